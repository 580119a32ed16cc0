import { fields } from './messages.mjs';

/** Returns what is wrong with a message as a list of texts; an empty list means nothing is. */
export function check(kind, message) {
  if (!Object.hasOwn(fields, kind)) return [`there is no message ${kind}`];
  const problems = [];
  for (const field of fields[kind]) {
    const value = message[field.name];
    if (value === undefined) {
      if (field.required) problems.push(`${field.name} is missing`);
    } else if (typeof value !== field.type) {
      problems.push(`${field.name} must be a ${field.type}`);
    } else {
      const problem = field.check ? field.check(value) : '';
      if (problem) problems.push(`${field.name} ${problem}`);
    }
  }
  const known = new Set(fields[kind].map((field) => field.name));
  for (const name of Object.keys(message)) if (!known.has(name)) problems.push(`${name} is not known`);
  return problems;
}
