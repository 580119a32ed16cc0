package shop;

/** So many of one article. */
public final class Line {
    private static final int BULK = 10;

    private final Article article;
    private int quantity;

    Line(Article article, int quantity) {
        this.article = article;
        setQuantity(quantity);
    }

    public Article article() {
        return article;
    }

    public int quantity() {
        return quantity;
    }

    void setQuantity(int quantity) {
        if (quantity < 1) {
            throw new IllegalArgumentException("a line needs at least one piece, not " + quantity);
        }
        this.quantity = quantity;
    }

    /** Cents, with the discount for many pieces. */
    public long amount() {
        long full = article.price() * quantity;
        return quantity >= BULK ? full - (full + 9) / 10 : full;
    }
}
