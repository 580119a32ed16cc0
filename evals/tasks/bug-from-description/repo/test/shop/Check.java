package shop;

/** What the tests share. */
final class Check {
    private final String name;
    private int failures;

    Check(String name) {
        this.name = name;
    }

    void equal(String what, Object expected, Object actual) {
        if (!expected.equals(actual)) {
            failures++;
            System.out.println(name + ": " + what + ": expected\n" + expected + "\nbut was\n" + actual);
        }
    }

    /** To be called last in main. */
    void done() {
        System.out.println(name + ": " + (failures == 0 ? "passed" : failures + " failed"));
        if (failures > 0) {
            System.exit(1);
        }
    }
}
