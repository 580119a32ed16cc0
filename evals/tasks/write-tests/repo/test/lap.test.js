import assert from "node:assert/strict";
import { test } from "node:test";
import { fastestLap, meanLap } from "../src/lap.js";

test("the mean is rounded to tenths", () => {
  assert.equal(meanLap([90, 91, 91]), 90.7);
});

test("the first of equally fast laps is the fastest", () => {
  assert.equal(fastestLap([92, 90, 90]), 1);
});

test("no laps have no mean and no fastest", () => {
  assert.equal(meanLap([]), null);
  assert.equal(fastestLap([]), -1);
});
