package tables;

/** Makes tables from comma-separated lines. */
public final class CsvTable {
    private CsvTable() {
    }

    /** The first line is the heading; empty lines are skipped. */
    public static TextTable read(String text) {
        TextTable table = null;
        for (String line : text.split("\n")) {
            if (line.isBlank()) {
                continue;
            }
            String[] cells = line.split(",", -1);
            for (int i = 0; i < cells.length; i++) {
                cells[i] = cells[i].strip();
            }
            if (table == null) {
                table = new TextTable(cells);
            } else {
                table.row(cells);
            }
        }
        if (table == null) {
            throw new IllegalArgumentException("no heading line");
        }
        return table;
    }
}
