import { fileURLToPath } from "node:url";
import { formatPrice, price } from "./price.js";
import { Tariffs } from "./tariffs.js";

const [from, to, persons = "1", vehicle] = process.argv.slice(2);
if (!from || !to) {
  console.error("usage: main.js FROM TO [PERSONS] [car]");
  process.exit(2);
}
try {
  const tariffs = new Tariffs(fileURLToPath(new URL("../data/tariffs.csv", import.meta.url)));
  const tariff = tariffs.find(from.toLowerCase(), to.toLowerCase());
  console.log(formatPrice(price(tariff, Number(persons), vehicle === "car")));
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
