package shop;

import java.util.Objects;

/** Article as it was, but it counts how often it is asked for its price. */
public final class Article {
    public static long asked;

    private final String number;
    private final String name;
    private final long price;

    public Article(String number, String name, long price) {
        if (price < 0) {
            throw new IllegalArgumentException(number + ": the price is negative");
        }
        this.number = Objects.requireNonNull(number);
        this.name = Objects.requireNonNull(name);
        this.price = price;
    }

    public String number() {
        return number;
    }

    public String name() {
        return name;
    }

    /** What one costs, in cents. */
    public long price() {
        asked++;
        return price;
    }
}
