import { allDepartures } from "./schedule.js";

const ROWS = 4;

/** The lines of the board: the next departures at or after `now` (minutes of the service day). */
export function boardRows(timetable, now) {
  return allDepartures(timetable)
    .filter((departure) => departure.minutes >= now)
    .slice(0, ROWS)
    .map((departure) => `${departure.label}  ${departure.line.padEnd(3)} ${departure.to}`);
}
