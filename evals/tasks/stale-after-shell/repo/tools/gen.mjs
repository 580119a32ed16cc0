// Writes src/messages.mjs from schema/messages.json. What stands between keep marks is taken over.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const target = new URL('src/messages.mjs', root);
const source = readFileSync(new URL('schema/messages.json', root), 'utf8');
const schema = JSON.parse(source);
const types = { text: 'string', number: 'number', flag: 'boolean' };

function keptBodies(text) {
  const kept = new Map();
  for (const [, name, body] of text.matchAll(/^ *\/\/ <keep (\S+)>\n([^]*?)^ *\/\/ <\/keep>$/gm)) kept.set(name, body);
  return kept;
}

const byName = (a, b) => (a.name < b.name ? -1 : 1);
const capital = (name) => name[0].toUpperCase() + name.slice(1);

function generate(kept) {
  const messages = [...schema.messages].sort(byName);
  const revision = createHash('sha256').update(JSON.stringify(schema)).digest('hex').slice(0, 8);
  const out = [`// Written by tools/gen.mjs, schema ${revision}. By hand: only between the keep marks.`, ''];
  let number = 0;
  const width = Math.max(...messages.flatMap((m) => m.fields.map((f) => f.name.length)));
  out.push('export const fields = {');
  for (const message of messages) {
    out.push(`  ${message.name}: [`);
    for (const field of [...message.fields].sort(byName)) {
      number += 1;
      const type = types[field.type];
      if (!type) throw new Error(`${message.name}.${field.name}: there is no type ${field.type}`);
      const name = `'${field.name}',`.padEnd(width + 3);
      const check = field.check ? `check${capital(message.name)}${capital(field.name)}` : 'null';
      const parts = [`number: ${String(number).padStart(2)}`, `name: ${name} type: '${type}'`, `required: ${Boolean(field.required)}`];
      out.push(`    { ${parts.join(', ')}, check: ${check} },`);
    }
    out.push('  ],');
  }
  out.push('};');
  for (const message of messages) {
    for (const field of [...message.fields].sort(byName).filter((f) => f.check)) {
      const mark = `${message.name}.${field.name}`;
      const body = kept.get(mark) ?? `  throw new Error('the check of ${mark} is not written yet');\n`;
      out.push('', `function check${capital(message.name)}${capital(field.name)}(value) {`);
      out.push(`  // <keep ${mark}>\n${body}  // </keep>`, '}');
    }
  }
  return out.join('\n') + '\n';
}

let old = '';
try {
  old = readFileSync(target, 'utf8');
} catch (error) {
  if (error.code !== 'ENOENT') throw error;
}
writeFileSync(target, generate(keptBodies(old)));
