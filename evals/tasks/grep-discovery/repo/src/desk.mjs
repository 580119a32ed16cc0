import { onList } from './lists.mjs';
import { Refusal } from './refusal.mjs';

/** Asks a desk on board, at an hour of the day. */
export function askDesk(train, name, hour) {
  if (!Object.hasOwn(train.desks, name)) throw new Refusal(3, 'ask', 'desk', name, ['desk', 'none']);
  if (!onList(train.desks[name], hour)) throw new Refusal(3, 'ask', 'desk', name, ['desk', 'shut']);
  return `desk ${name} is open`;
}
