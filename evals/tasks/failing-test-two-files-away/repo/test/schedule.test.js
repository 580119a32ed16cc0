import assert from "node:assert/strict";
import { test } from "node:test";
import { allDepartures, departuresOf } from "../src/schedule.js";

test("first, last and interval become departures", () => {
  const departures = departuresOf({ line: "31", to: "Hospital", first: "06:05", last: "07:05", every: 30 });
  assert.deepEqual(departures.map(({ label }) => label), ["06:05", "06:35", "07:05"]);
});

test("night departures stay at the end of their service day", () => {
  const minutes = allDepartures([
    { line: "N3", to: "Old Town", first: "23:50", last: "24:50", every: 60 },
    { line: "12", to: "Harbour", first: "05:40", last: "05:40", every: 20 },
  ]).map((departure) => departure.minutes);
  assert.deepEqual(minutes, [340, 1430, 1490]);
});

test("an interval of nothing is refused", () => {
  assert.throws(() => departuresOf({ line: "1", to: "X", first: "06:00", last: "07:00", every: 0 }), RangeError);
});
