/** The mean of lap times in seconds, rounded to tenths; null without laps. */
export function meanLap(laps) {
  if (laps.length === 0) {
    return null;
  }
  const total = laps.reduce((sum, lap) => sum + lap, 0);
  return Math.round((total / laps.length) * 10) / 10;
}

/** The index of the fastest lap, the first of several; -1 without laps. */
export function fastestLap(laps) {
  return laps.indexOf(Math.min(...laps));
}
