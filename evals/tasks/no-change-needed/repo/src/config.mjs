import { readFileSync } from 'node:fs';

const directory = new URL('../config/', import.meta.url);

/** Reads sections of `key = value`; numbers become numbers. */
export function parse(text) {
  const settings = {};
  let section = null;
  text.split('\n').forEach((raw, index) => {
    const line = raw.replace(/(^|\s)#.*$/, '').trim();
    if (!line) return;
    const heading = /^\[(\w+)\]$/.exec(line);
    if (heading) {
      section = settings[heading[1]] ??= {};
      return;
    }
    const pair = /^(\w+)\s*=\s*(.*)$/.exec(line);
    if (!pair || !section) throw new Error(`line ${index + 1}: cannot read ${line}`);
    section[pair[1]] = /^\d+$/.test(pair[2]) ? Number(pair[2]) : pair[2];
  });
  return settings;
}

/** The settings of an environment: the base, and what the environment sets over it. */
export function load(environment) {
  const settings = parse(readFileSync(new URL('base.conf', directory), 'utf8'));
  const over = parse(readFileSync(new URL(`${environment}.conf`, directory), 'utf8'));
  for (const [section, pairs] of Object.entries(over)) Object.assign((settings[section] ??= {}), pairs);
  return settings;
}
