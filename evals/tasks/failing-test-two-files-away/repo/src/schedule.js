import { formatTime, parseTime } from "./clock.js";

/** All departures of one entry of the timetable, in the order in which they leave. */
export function departuresOf(entry) {
  const first = parseTime(entry.first);
  const last = parseTime(entry.last);
  if (!(entry.every > 0)) {
    throw new RangeError(`line ${entry.line}: the interval must be positive`);
  }
  const departures = [];
  for (let minutes = first; minutes <= last; minutes += entry.every) {
    departures.push({ line: entry.line, to: entry.to, minutes, label: formatTime(minutes) });
  }
  return departures;
}

/** The departures of all lines, in the order in which they leave. */
export function allDepartures(timetable) {
  return timetable.flatMap(departuresOf).sort((a, b) => a.minutes - b.minutes || compare(a.line, b.line));
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
