package shop;

/** What it costs to send a cart. */
public final class Shipping {
    private static final long FREE_FROM = 5000;
    private static final long PRICE = 490;

    private Shipping() {
    }

    /** Cents. */
    public static long of(Cart cart) {
        if (cart.isEmpty() || cart.sum() >= FREE_FROM) {
            return 0;
        }
        return PRICE;
    }
}
