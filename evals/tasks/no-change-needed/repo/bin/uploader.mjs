#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { load } from '../src/config.mjs';
import { upload } from '../src/upload.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { env: { type: 'string', default: 'staging' }, 'print-config': { type: 'boolean' } },
});
const settings = load(values.env);
if (values['print-config']) console.log(JSON.stringify(settings, null, 2));
else for (const file of positionals) await upload(settings, basename(file), readFileSync(file));
