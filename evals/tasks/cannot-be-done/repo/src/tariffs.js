import { readCsv } from "./csv.js";

/** The tariffs of a file; a connection costs the same in both directions. */
export class Tariffs {
  #byConnection = new Map();

  constructor(path) {
    for (const { from, to, person, vehicle } of readCsv(path)) {
      const tariff = { person: Number(person), vehicle: Number(vehicle) };
      if (!Number.isInteger(tariff.person) || !Number.isInteger(tariff.vehicle)) {
        throw new Error(`${path}: ${from} to ${to}: amounts are whole cents`);
      }
      this.#byConnection.set(connection(from, to), tariff);
    }
  }

  find(from, to) {
    const tariff = this.#byConnection.get(connection(from, to));
    if (!tariff) {
      throw new Error(`no tariff from ${from} to ${to}`);
    }
    return tariff;
  }
}

function connection(from, to) {
  return [from, to].sort().join(" ");
}
