import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { check } from './src/check.mjs';

const before = JSON.parse(readFileSync(`${process.argv[2]}/schema/messages.json`, 'utf8'));
const after = JSON.parse(readFileSync('schema/messages.json', 'utf8'));
const user = after.messages.find((message) => message.name === 'user');
const nickname = user.fields.filter((field) => field.name === 'nickname');
assert.equal(nickname.length, 1, 'the schema has no field nickname, or two');
assert.equal(nickname[0].type, 'text', 'nickname is not a text');
user.fields = user.fields.filter((field) => field.name !== 'nickname');
assert.deepEqual(after, before, 'something else in the schema changed');

const problems = (nickname) => check('user', { id: 1, mail: 'ada@parlour.example', nickname });
for (const good of ['a', 'Ada L.', 'x'.repeat(20)]) assert.deepEqual(problems(good), [], `${good} is refused`);
for (const bad of ['x'.repeat(21), ' Ada', 'Ada ', ' ', 'x'.repeat(400)]) {
  assert.equal(problems(bad).length, 1, `${JSON.stringify(bad)} is accepted`);
  assert.equal(typeof problems(bad)[0], 'string');
}
assert.equal(problems(5).length, 1, 'a number is accepted');
assert.deepEqual(check('user', { id: 1, mail: 'ada@parlour.example' }), [], 'a user without a nickname is refused');
console.log('ok');
