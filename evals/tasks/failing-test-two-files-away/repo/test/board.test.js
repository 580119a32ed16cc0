import assert from "node:assert/strict";
import { test } from "node:test";
import { boardRows } from "../src/board.js";

const timetable = [
  { line: "12", to: "Harbour", first: "05:40", last: "21:40", every: 20 },
  { line: "N3", to: "Old Town", first: "22:50", last: "26:50", every: 30 },
];

test("the board shows the next four departures", () => {
  assert.deepEqual(boardRows(timetable, 8 * 60), [
    "08:00  12  Harbour",
    "08:20  12  Harbour",
    "08:40  12  Harbour",
    "09:00  12  Harbour",
  ]);
});

test("the board shows the night service", () => {
  assert.deepEqual(boardRows(timetable, 23 * 60 + 30), [
    "23:50  N3  Old Town",
    "00:20  N3  Old Town",
    "00:50  N3  Old Town",
    "01:20  N3  Old Town",
  ]);
});
