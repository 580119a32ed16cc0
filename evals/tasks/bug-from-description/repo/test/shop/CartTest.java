package shop;

public final class CartTest {
    private static final Article POT = new Article("P1", "pot", 995);
    private static final Article SEED = new Article("S4", "seed", 149);

    public static void main(String[] args) {
        Check check = new Check("CartTest");

        Cart cart = new Cart();
        check.equal("empty sum", 0L, cart.sum());
        check.equal("empty shipping", 0L, Shipping.of(cart));
        cart.add(POT, 2);
        check.equal("two pots", 1990L, cart.sum());
        cart.add(SEED, 1);
        check.equal("and a seed", 2139L, cart.sum());
        check.equal("shipping", 490L, Shipping.of(cart));
        cart.add(POT, 1);
        check.equal("another pot", 3134L, cart.sum());
        cart.remove("S4");
        check.equal("no seed", 2985L, cart.sum());
        cart.clear();
        check.equal("emptied", 0L, cart.sum());

        Cart changed = new Cart();
        changed.add(POT, 2);
        changed.change("P1", 3);
        check.equal("changed", 2985L, changed.sum());
        changed.change("P1", 0);
        check.equal("taken out", true, changed.isEmpty());

        Cart bulk = new Cart();
        bulk.add(SEED, 10);
        check.equal("ten seeds", 1341L, bulk.sum());

        Cart limit = new Cart();
        limit.add(new Article("B1", "book", 2500), 2);
        check.equal("free from 50.00 on", 0L, Shipping.of(limit));

        check.done();
    }
}
