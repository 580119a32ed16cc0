import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { formatPrice, price } from "../src/price.js";
import { Tariffs } from "../src/tariffs.js";

// Round numbers that nobody would take for real tariffs.
const tariffs = new Tariffs(fileURLToPath(new URL("./fixtures/tariffs.csv", import.meta.url)));

test("both directions cost the same", () => {
  assert.deepEqual(tariffs.find("vik", "sund"), tariffs.find("sund", "vik"));
});

test("persons and a vehicle are added up", () => {
  assert.equal(price(tariffs.find("nordhavn", "sund"), 2, true), 1200);
  assert.equal(price(tariffs.find("nordhavn", "sund"), 2, false), 200);
});

test("prices have two digits", () => {
  assert.equal(formatPrice(1205), "12.05");
});

test("a connection without a tariff is an error", () => {
  assert.throws(() => tariffs.find("mole", "vik"), /no tariff from mole to vik/);
});
