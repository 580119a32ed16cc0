#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Refusal } from '../src/refusal.mjs';
import { book, describe, swap } from '../src/booking.mjs';
import { askDesk } from '../src/desk.mjs';

const [file, command, ...words] = process.argv.slice(2);
const commands = {
  book: (train, seat) => book(train, seat),
  swap: (train, from, to) => swap(train, from, to),
  show: (train, seat) => describe(train, seat),
  desk: (train, name) => askDesk(train, name, new Date().getHours()),
};
try {
  if (!Object.hasOwn(commands, command ?? '')) throw new Error('usage: seats.mjs TRAIN book|swap|show|desk WORD...');
  console.log(commands[command](JSON.parse(readFileSync(file, 'utf8')), ...words));
} catch (error) {
  console.error(error.message);
  process.exitCode = error instanceof Refusal ? 1 : 2;
}
