package tables;

/** What the tests share: comparing, and a line at the end. */
final class Check {
    private final String name;
    private int failures;
    private int checks;

    Check(String name) {
        this.name = name;
    }

    void equal(String what, Object expected, Object actual) {
        checks++;
        if (!expected.equals(actual)) {
            failures++;
            System.out.println(name + ": " + what + "\n  expected:\n" + expected + "\n  actual:\n" + actual);
        }
    }

    void fails(String what, Class<? extends Exception> expected, Runnable code) {
        checks++;
        try {
            code.run();
        } catch (Exception e) {
            if (expected.isInstance(e)) {
                return;
            }
            System.out.println(name + ": " + what + ": " + e);
            failures++;
            return;
        }
        failures++;
        System.out.println(name + ": " + what + ": no " + expected.getSimpleName());
    }

    /** To be called last in main. */
    void done() {
        System.out.println(name + ": " + checks + " checks, " + failures + " failed");
        if (failures > 0) {
            System.exit(1);
        }
    }
}
