import assert from 'node:assert/strict';
import { test } from 'node:test';
import { book, describe, swap } from '../src/booking.mjs';
import { askDesk } from '../src/desk.mjs';
import { onList } from '../src/lists.mjs';
import { parseSeat } from '../src/seat.mjs';

const train = () => ({ rows: 20, closed: '5, 9-10', quiet: '1-4', booked: ['12A'], desks: { Alma: '6-9' } });

test('a free seat is booked once', () => {
  const t = train();
  assert.equal(book(t, '3B'), '3B (at the aisle, quiet)');
  assert.throws(() => book(t, '3B'), /^Error: E-201: cannot book seat 3B: seat is taken$/);
});

test('closed rows and seats that are not there are refused', () => {
  assert.throws(() => book(train(), '5A'), /^Error: E-214: cannot book seat 5A: row is closed$/);
  assert.throws(() => book(train(), '10A'), /row is closed/);
  assert.throws(() => book(train(), '21A'), /E-203/);
  assert.throws(() => book(train(), '2E'), /seat is not there/);
});

test('a seat is swapped', () => {
  const t = train();
  assert.equal(swap(t, '12A', '13D'), '13D (at the window)');
  assert.deepEqual(t.booked, ['13D']);
});

test('desks have hours', () => {
  assert.equal(askDesk(train(), 'Alma', 8), 'desk Alma is open');
  assert.throws(() => askDesk(train(), 'Alma', 12), /E-326: cannot ask desk Alma: desk is closed/);
});

test('lists and seats', () => {
  assert.ok(onList('3, 8, 10-12', 8));
  assert.ok(onList('3, 8, 10-12', 11));
  assert.ok(!onList('3, 8, 10-12', 9));
  assert.equal(parseSeat('0A'), null);
  assert.equal(describe(train(), '7C'), '7C (at the aisle)');
});
