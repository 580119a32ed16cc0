package shop;

import java.util.Locale;

/** A cart as text. */
public final class Receipt {
    private Receipt() {
    }

    public static String print(Cart cart) {
        StringBuilder out = new StringBuilder();
        for (Line line : cart.lines()) {
            row(out, line.quantity() + " " + line.article().name(), line.amount());
        }
        long shipping = Shipping.of(cart);
        row(out, "sum", cart.sum());
        row(out, "shipping", shipping);
        row(out, "to pay", cart.sum() + shipping);
        return out.toString();
    }

    private static void row(StringBuilder out, String what, long cents) {
        out.append(String.format(Locale.ROOT, "%-20s%6d.%02d%n", what, cents / 100, cents % 100).replace("\r", ""));
    }
}
