import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check } from '../src/check.mjs';

test('a good message has no problems', () => {
  assert.deepEqual(check('user', { id: 1, mail: 'ada@parlour.example' }), []);
  assert.deepEqual(check('room', { title: 'Kitchen', seats: 4, open: true }), []);
  assert.deepEqual(check('line', { room: 'Kitchen', from: 1, body: 'Tea?' }), []);
});

test('types, missing and unknown fields are told', () => {
  assert.deepEqual(check('user', { id: '1', colour: 'red' }), [
    'id must be a number',
    'mail is missing',
    'colour is not known',
  ]);
});

test('the checks of our own', () => {
  assert.deepEqual(check('user', { id: 1, mail: 'ada' }), ['mail is not an address']);
  assert.deepEqual(check('room', { title: '', seats: 0 }), ['seats must be from 1 to 64', 'title must not be empty']);
  assert.deepEqual(check('line', { room: 'Kitchen', from: 1, body: 'x'.repeat(501) }), ['body is longer than 500 characters']);
});
