// What a refusal is about, and what can be the matter with it.
const things = { seat: 'seat', row: 'row', desk: 'desk', train: 'train' };
const states = { gone: 'taken', shut: 'closed', none: 'not there', full: 'full' };

/** A request that is refused for a reason that people shall read. */
export class Refusal extends Error {
  /** `area` is the hundreds of the number, `about` the thing and `why` the pair of a thing and its state. */
  constructor(area, verb, about, name, [what, state]) {
    const number = area * 100 + Object.keys(things).indexOf(what) * 12 + Object.keys(states).indexOf(state) + 1;
    super(`E-${number}: cannot ${verb} ${things[about]} ${name}: ${things[what]} is ${states[state]}`);
    this.number = number;
  }
}
