/** The same as src/duration.js in other words: tests have to accept it. */
const SIZES = { h: 3600, m: 60, s: 1 };

export function parseDuration(text) {
  const trimmed = text.trim();
  const found = trimmed === "" ? null : trimmed.match(/^(\d+h)?(\d+m)?(\d+s)?$/);
  if (found === null) {
    throw new SyntaxError(`not a duration: ${JSON.stringify(text)}`);
  }
  let total = 0;
  for (const part of found.slice(1)) {
    if (part !== undefined) {
      total += SIZES[part.at(-1)] * Number(part.slice(0, -1));
    }
  }
  return total;
}

export function formatDuration(seconds) {
  if (!Number.isFinite(seconds) || seconds < 0) {
    throw new RangeError(`not a duration: ${seconds}`);
  }
  const whole = Math.round(seconds);
  const parts = [
    [Math.floor(whole / 3600), "h"],
    [Math.floor((whole % 3600) / 60), "m"],
    [whole % 60, "s"],
  ];
  return parts.filter(([count]) => count > 0).map(([count, unit]) => `${count}${unit}`).join("") || "0s";
}
