import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, parse } from '../src/config.mjs';
import { upload } from '../src/upload.mjs';

test('sections, numbers and comments', () => {
  assert.deepEqual(parse('[a]\nb = 1 # one\nc = x#y\n'), { a: { b: 1, c: 'x#y' } });
  assert.throws(() => parse('b = 1'), /line 1/);
});

test('an environment wins over the base', () => {
  const settings = load('staging');
  assert.equal(settings.queue.retries, 1);
  assert.equal(settings.queue.directory, 'spool');
});

test('an upload is put under its name', async () => {
  const seen = [];
  const send = async (url, { method, body }) => (seen.push([url, method, body]), { ok: true });
  await upload({ archive: { url: 'https://a.invalid', upload_timeout: 1000 } }, 'a b.csv', 'x', send);
  assert.deepEqual(seen, [['https://a.invalid/files/a%20b.csv', 'PUT', 'x']]);
});
