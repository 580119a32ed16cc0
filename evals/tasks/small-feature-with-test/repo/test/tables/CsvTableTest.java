package tables;

public final class CsvTableTest {
    public static void main(String[] args) {
        Check check = new Check("CsvTableTest");
        check.equal("lines become rows", "a   b\n--  -\n10  2\n", CsvTable.read("a, b\n\n10, 2\n").toString());
        check.fails("nothing to read", IllegalArgumentException.class, () -> CsvTable.read("\n"));
        check.done();
    }
}
