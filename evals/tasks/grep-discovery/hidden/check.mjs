import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { book, describe, swap } from './src/booking.mjs';
import { askDesk } from './src/desk.mjs';
import { onList } from './src/lists.mjs';

const night = () => JSON.parse(readFileSync('data/night.json', 'utf8'));
const closed = new Set([17, 27, 30, 31, 32]);
const quiet = new Set([1, 2, 3, 4, 20]);
for (let row = 1; row <= 36; row += 1) {
  const seat = `${row}C`;
  if (closed.has(row)) {
    const text = `E-214: cannot book seat ${seat}: row is closed`;
    assert.throws(() => book(night(), seat), { message: text }, `row ${row} can be booked`);
    assert.throws(() => swap(night(), '12A', seat), { number: 214 });
  } else {
    assert.equal(book(night(), seat), `${seat} (at the aisle${quiet.has(row) ? ', quiet' : ''})`);
    assert.ok(swap(night(), '12A', seat));
  }
  assert.equal(describe(night(), seat).includes('quiet'), quiet.has(row), `quiet of row ${row}`);
}
assert.throws(() => book(night(), '12A'), { message: 'E-201: cannot book seat 12A: seat is taken' });
const open = (name, hour) => {
  try {
    return Boolean(askDesk(night(), name, hour));
  } catch (error) {
    assert.equal(error.number, 326, String(error));
    return false;
  }
};
for (let hour = 0; hour < 24; hour += 1) {
  assert.equal(open('Alma', hour), (hour >= 6 && hour <= 9) || (hour >= 18 && hour <= 22), `Alma at ${hour}`);
  assert.equal(open('Bruno', hour), hour === 23, `Bruno at ${hour}`);
}
for (const number of [0, 1, '1', '0']) assert.equal(onList('', number), false, 'something is on an empty list');
assert.ok(onList(' 8 ,9', '8') && onList('8', 8) && !onList('8', 80) && !onList('80', '8'));
console.log('ok');
