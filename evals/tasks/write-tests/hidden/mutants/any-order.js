const UNITS = [
  ["h", 3600],
  ["m", 60],
  ["s", 1],
];

/**
 * Reads a duration such as "1h30m", "45s" or "2h5s" and returns its seconds.
 *
 * - Hours, minutes and seconds come in this order; each may be missing, but not all of them.
 * - Numbers are whole and may be larger than what fits the next unit: "90m" is an hour and a half.
 * - Spaces around the text are ignored, spaces within it are not allowed.
 *
 * Anything else throws a SyntaxError.
 */
export function parseDuration(text) {
  const parts = [...text.trim().matchAll(/(\d+)([hms])/g)];
  const units = parts.map((part) => part[2]);
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== text.trim() || new Set(units).size < units.length) {
    throw new SyntaxError(`not a duration: ${JSON.stringify(text)}`);
  }
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * UNITS.find(([name]) => name === unit)[1], 0);
}

/**
 * Writes seconds as the shortest text that parseDuration reads back as the same number.
 *
 * - Units that are zero are left out: 3600 is "1h", 3605 is "1h5s".
 * - Nothing at all is "0s".
 * - Fractions are rounded to the nearest second, so 59.6 is "1m".
 *
 * A negative or not finite number throws a RangeError.
 */
export function formatDuration(seconds) {
  if (!Number.isFinite(seconds) || seconds < 0) {
    throw new RangeError(`not a duration: ${seconds}`);
  }
  let left = Math.round(seconds);
  let text = "";
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / size);
    if (count > 0) {
      text += `${count}${unit}`;
      left -= count * size;
    }
  }
  return text || "0s";
}
