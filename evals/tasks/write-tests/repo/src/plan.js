import { formatDuration, parseDuration } from "./duration.js";

/** How long a plan takes: a list of { run, rest, times }, where rest and times may be missing. */
export function planLength(blocks) {
  let seconds = 0;
  for (const { run, rest = "0s", times = 1 } of blocks) {
    seconds += (parseDuration(run) + parseDuration(rest)) * times;
  }
  return formatDuration(seconds);
}
