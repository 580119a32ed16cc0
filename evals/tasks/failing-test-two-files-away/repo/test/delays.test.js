import assert from "node:assert/strict";
import { test } from "node:test";
import { delayNotice } from "../src/delays.js";

test("a notice names both times", () => {
  assert.equal(delayNotice("12", "08:55", 10), "12 08:55 is 10 min late, now 09:05");
});
