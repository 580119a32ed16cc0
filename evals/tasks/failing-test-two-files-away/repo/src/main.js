import { readFileSync } from "node:fs";
import { boardRows } from "./board.js";
import { parseTime } from "./clock.js";
import { delayNotice } from "./delays.js";
import { posterRows } from "./poster.js";

const timetable = JSON.parse(readFileSync(new URL("../data/timetable.json", import.meta.url), "utf8"));

function run([command, ...rest]) {
  switch (command) {
    case "board":
      return boardRows(timetable, parseTime(rest[0] ?? "00:00"));
    case "poster": {
      const entry = timetable.find(({ line }) => line === rest[0]);
      return entry ? posterRows(entry) : [`no such line: ${rest[0]}`];
    }
    case "delay":
      return [delayNotice(rest[0], rest[1], Number(rest[2]))];
    default:
      return ["usage: main.js board [TIME] | poster LINE | delay LINE TIME MINUTES"];
  }
}

console.log(run(process.argv.slice(2)).join("\n"));
