package tables;

public final class TextTableTest {
    public static void main(String[] args) {
        Check check = new Check("TextTableTest");
        columnsAreAsWideAsTheirWidestCell(check);
        missingCellsAreEmpty(check);
        titleAndGap(check);
        whatCannotBeIsRefused(check);
        check.done();
    }

    private static void columnsAreAsWideAsTheirWidestCell(Check check) {
        TextTable table = new TextTable("city", "people").row("Ostheim", "48210").row("Vell", "9077");
        check.equal("widths",
            "city     people\n"
                + "-------  ------\n"
                + "Ostheim  48210\n"
                + "Vell     9077\n",
            table.toString());
    }

    private static void missingCellsAreEmpty(Check check) {
        TextTable table = new TextTable("a", "b").row("1");
        check.equal("short row", "a  b\n-  -\n1\n", table.toString());
    }

    private static void titleAndGap(Check check) {
        TextTable table = new TextTable("a", "b").title("T").gap(3).row("1", "2");
        check.equal("title and gap", "T\na   b\n-   -\n1   2\n", table.toString());
    }

    private static void whatCannotBeIsRefused(Check check) {
        check.fails("no columns", IllegalArgumentException.class, () -> new TextTable());
        check.fails("row too long", IllegalArgumentException.class, () -> new TextTable("a").row("1", "2"));
        check.fails("no gap", IllegalArgumentException.class, () -> new TextTable("a").gap(0));
    }
}
