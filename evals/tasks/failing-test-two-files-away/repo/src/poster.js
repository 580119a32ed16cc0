import { departuresOf } from "./schedule.js";

/** The poster of one line: one row per hour with the minutes of its departures. */
export function posterRows(entry) {
  const rows = new Map();
  for (const { label } of departuresOf(entry)) {
    const [hour, minute] = label.split(":");
    rows.set(hour, [...(rows.get(hour) ?? []), minute]);
  }
  return [...rows].map(([hour, minutes]) => `${hour} | ${minutes.join(" ")}`);
}
