package tables;

import java.util.ArrayList;
import java.util.List;

/** A table of text with a heading; see README.md. */
public final class TextTable {
    private final String[] heading;
    private final List<String[]> rows = new ArrayList<>();
    private String title;
    private int gap = 2;

    public TextTable(String... heading) {
        if (heading.length == 0) {
            throw new IllegalArgumentException("a table needs at least one column");
        }
        this.heading = heading.clone();
    }

    /** Puts a line above the table. */
    public TextTable title(String text) {
        this.title = text;
        return this;
    }

    /** Sets the number of spaces between two columns. */
    public TextTable gap(int spaces) {
        if (spaces < 1) {
            throw new IllegalArgumentException("the gap must be at least 1, not " + spaces);
        }
        this.gap = spaces;
        return this;
    }

    /** Adds a row; cells that are missing at its end are empty. */
    public TextTable row(String... cells) {
        if (cells.length > heading.length) {
            throw new IllegalArgumentException(
                "a row of " + cells.length + " cells in a table of " + heading.length + " columns");
        }
        String[] full = new String[heading.length];
        for (int column = 0; column < full.length; column++) {
            full[column] = column < cells.length ? cells[column] : "";
        }
        rows.add(full);
        return this;
    }

    public int columns() {
        return heading.length;
    }

    @Override
    public String toString() {
        int[] widths = widths();
        StringBuilder out = new StringBuilder();
        if (title != null) {
            out.append(title).append('\n');
        }
        appendLine(out, heading, widths);
        String[] rule = new String[heading.length];
        for (int column = 0; column < rule.length; column++) {
            rule[column] = "-".repeat(widths[column]);
        }
        appendLine(out, rule, widths);
        for (String[] row : rows) {
            appendLine(out, row, widths);
        }
        return out.toString();
    }

    private int[] widths() {
        int[] widths = new int[heading.length];
        for (int column = 0; column < widths.length; column++) {
            widths[column] = heading[column].length();
            for (String[] row : rows) {
                widths[column] = Math.max(widths[column], row[column].length());
            }
        }
        return widths;
    }

    private void appendLine(StringBuilder out, String[] cells, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int column = 0; column < cells.length; column++) {
            if (column > 0) {
                line.append(" ".repeat(gap));
            }
            line.append(pad(cells[column], widths[column]));
        }
        out.append(line.toString().stripTrailing()).append('\n');
    }

    private static String pad(String cell, int width) {
        return cell + " ".repeat(width - cell.length());
    }
}
