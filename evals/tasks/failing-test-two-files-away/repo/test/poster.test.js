import assert from "node:assert/strict";
import { test } from "node:test";
import { posterRows } from "../src/poster.js";

test("a poster has one row per hour", () => {
  const rows = posterRows({ line: "31", to: "Hospital", first: "06:05", last: "07:35", every: 30 });
  assert.deepEqual(rows, ["06 | 05 35", "07 | 05 35"]);
});
