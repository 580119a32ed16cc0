import { onList } from './lists.mjs';
import { Refusal } from './refusal.mjs';
import { atWindow, parseSeat } from './seat.mjs';

const AREA = 2;

function check(train, verb, name) {
  const seat = parseSeat(name);
  const refuse = (...why) => {
    throw new Refusal(AREA, verb, 'seat', name, why);
  };
  if (!seat || Number(seat.row) > train.rows) refuse('seat', 'none');
  if (onList(train.closed, seat.row)) refuse('row', 'shut');
  if (train.booked.includes(name)) refuse('seat', 'gone');
  return seat;
}

/** Books a seat and says what kind of seat it is. */
export function book(train, name) {
  check(train, 'book', name);
  train.booked.push(name);
  return describe(train, name);
}

/** Gives a seat back for another one. */
export function swap(train, from, to) {
  const at = train.booked.indexOf(from);
  if (at < 0) throw new Refusal(AREA, 'swap', 'seat', from, ['seat', 'none']);
  check(train, 'take', to);
  train.booked.splice(at, 1, to);
  return describe(train, to);
}

export function describe(train, name) {
  const seat = parseSeat(name);
  if (!seat) throw new Refusal(AREA, 'show', 'seat', name, ['seat', 'none']);
  const words = [atWindow(seat) ? 'at the window' : 'at the aisle'];
  if (onList(train.quiet, seat.row)) words.push('quiet');
  return `${name} (${words.join(', ')})`;
}
