import tables.CsvTable;
import tables.TextTable;

public final class HiddenChecks {
    public static void main(String[] args) {
        // Tables that do not use it.
        same("city     people\n-------  ------\nOstheim  48210\nVell     9077\n",
            new TextTable("city", "people").row("Ostheim", "48210").row("Vell", "9077"));
        same("T\na   b\n-   -\n1\n", new TextTable("a", "b").title("T").gap(3).row("1"));
        same("a   b\n--  -\n10  2\n", CsvTable.read("a, b\n\n10, 2\n"));
        // A column in the middle, heading included; the others stay as they are.
        same("item     count  unit\n-------  -----  ----\nflour        5  kg\nraisins    120  g\n",
            new TextTable("item", "count", "unit").alignRight(1).row("flour", "5", "kg").row("raisins", "120", "g"));
        // A heading narrower than its cells; set after the rows; the last column.
        same("town        n\n-------  ----\nOstheim  4821\nVell       90\n",
            new TextTable("town", "n").row("Ostheim", "4821").row("Vell", "90").alignRight(1));
        // Two columns, the first one too, with a gap and a title.
        same("T\n n    m\n--   --\n 5   10\n12    3\n",
            new TextTable("n", "m").title("T").gap(3).alignRight(0).alignRight(1).row("5", "10").row("12", "3"));
        // A missing cell is empty, and no line ends in spaces.
        same("a   b\n-  --\n1\n2  10\n", new TextTable("a", "b").alignRight(1).row("1").row("2", "10"));
        // Twice is like once; each table has its own setting.
        same("  n\n---\n  1\n100\n", new TextTable("n").alignRight(0).alignRight(0).row("1").row("100"));
        same("n\n---\n1\n100\n", new TextTable("n").row("1").row("100"));
        same("a    n\n--  --\nx    1\nyy  22\n", CsvTable.read("a,n\nx,1\nyy,22").alignRight(1));
        refused(2);
        refused(-1);
        TextTable table = new TextTable("a");
        if (table.alignRight(0) != table) {
            fail("alignRight does not return the table");
        }
        System.out.println("hidden checks passed");
    }

    private static void same(String expected, TextTable table) {
        if (!expected.equals(table.toString())) {
            fail("expected:\n" + expected + "actual:\n" + table);
        }
    }

    private static void refused(int column) {
        try {
            new TextTable("a", "b").alignRight(column);
        } catch (IndexOutOfBoundsException e) {
            return;
        }
        fail("alignRight(" + column + ") of two columns was accepted");
    }

    private static void fail(String why) {
        System.out.println(why);
        System.exit(1);
    }
}
