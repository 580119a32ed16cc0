import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const load = (name) => import(pathToFileURL(join(process.cwd(), "src", name)).href);
const { boardRows } = await load("board.js");
const { formatTime, parseTime } = await load("clock.js");
const { delayNotice } = await load("delays.js");
const { posterRows } = await load("poster.js");
const { allDepartures } = await load("schedule.js");

const night = { line: "N7", to: "Mill", first: "22:30", last: "25:30", every: 30 };

assert.deepEqual(boardRows([night], 24 * 60), [
  "00:00  N7  Mill",
  "00:30  N7  Mill",
  "01:00  N7  Mill",
  "01:30  N7  Mill",
]);
assert.deepEqual(posterRows(night), ["22 | 30", "23 | 00 30", "00 | 00 30", "01 | 00 30"]);
assert.equal(delayNotice("N7", "23:55", 10), "N7 23:55 is 10 min late, now 00:05");
assert.equal(delayNotice("N7", "24:30", 5), "N7 00:30 is 5 min late, now 00:35");
assert.equal(formatTime(24 * 60), "00:00");
assert.equal(formatTime(26 * 60 + 50), "02:50");
assert.equal(formatTime(23 * 60 + 59), "23:59");
// Service-day minutes stay what they are, so night buses come last.
assert.equal(parseTime("24:15"), 1455);
assert.deepEqual(allDepartures([night]).map((one) => one.minutes), [1350, 1380, 1410, 1440, 1470, 1500, 1530]);
console.log("hidden checks passed");
