import { readFileSync } from "node:fs";

/** The rows of a comma-separated file with a heading, as objects. */
export function readCsv(path) {
  const [heading, ...lines] = readFileSync(path, "utf8").split("\n").filter((line) => line.trim() !== "");
  const names = heading.split(",");
  return lines.map((line) => {
    const values = line.split(",");
    if (values.length !== names.length) {
      throw new Error(`${path}: ${values.length} values instead of ${names.length}: ${line}`);
    }
    return Object.fromEntries(names.map((name, i) => [name, values[i].trim()]));
  });
}
