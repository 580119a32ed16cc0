// Times of a service day are minutes since its midnight; they may go past 24 hours (see README.md, Times).

const PATTERN = /^(\d{1,2}):([0-5]\d)$/;

/** "24:15" becomes 1455. */
export function parseTime(text) {
  const match = PATTERN.exec(text);
  if (!match) {
    throw new RangeError(`not a time: ${JSON.stringify(text)}`);
  }
  return Number(match[1]) * 60 + Number(match[2]);
}

/** Minutes of a service day as passengers read them on a clock. */
export function formatTime(minutes) {
  const hour = Math.floor(minutes / 60);
  return `${pad(hour)}:${pad(minutes % 60)}`;
}

function pad(number) {
  return String(number).padStart(2, "0");
}
