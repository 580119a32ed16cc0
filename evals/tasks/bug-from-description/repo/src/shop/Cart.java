package shop;

import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** What a customer is about to buy, in the order in which it was put in. */
public final class Cart {
    private static final long UNKNOWN = -1;

    private final Map<String, Line> lines = new LinkedHashMap<>();
    private long sum = UNKNOWN;

    /** Puts pieces in; of an article that is already there, there are more then. */
    public void add(Article article, int quantity) {
        Line line = lines.get(article.number());
        if (line == null) {
            lines.put(article.number(), new Line(article, quantity));
        } else {
            line.setQuantity(line.quantity() + quantity);
        }
        sum = UNKNOWN;
    }

    /** Changes the number of pieces of an article that is in the cart; 0 takes it out. */
    public void change(String number, int quantity) {
        Line line = lines.get(number);
        if (line == null) {
            throw new IllegalArgumentException("not in the cart: " + number);
        }
        if (quantity == 0) {
            remove(number);
        } else {
            line.setQuantity(quantity);
        }
    }

    public void remove(String number) {
        lines.remove(number);
        sum = UNKNOWN;
    }

    public void clear() {
        lines.clear();
        sum = UNKNOWN;
    }

    public Collection<Line> lines() {
        return Collections.unmodifiableCollection(lines.values());
    }

    public boolean isEmpty() {
        return lines.isEmpty();
    }

    /** Cents for all lines, without shipping. */
    public long sum() {
        if (sum == UNKNOWN) {
            sum = lines.values().stream().mapToLong(Line::amount).sum();
        }
        return sum;
    }
}
