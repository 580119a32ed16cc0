import { formatTime, parseTime } from "./clock.js";

/** What the app shows when a bus is late. */
export function delayNotice(line, planned, lateBy) {
  const minutes = parseTime(planned);
  return `${line} ${formatTime(minutes)} is ${lateBy} min late, now ${formatTime(minutes + lateBy)}`;
}
