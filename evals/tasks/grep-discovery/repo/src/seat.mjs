/** Takes "12C" apart; null if it is not the name of a seat. */
export function parseSeat(name) {
  const found = /^([1-9]\d?)([A-D])$/.exec(name ?? '');
  return found && { name, row: found[1], letter: found[2] };
}

/** Whether a seat is at the window. */
export const atWindow = (seat) => seat.letter === 'A' || seat.letter === 'D';
