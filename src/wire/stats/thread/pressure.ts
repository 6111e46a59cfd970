/**
 * Pressure stall information: how long tasks waited for a resource. The file has a line "some avg10=0.00 avg60=0.00
 * avg300=0.00 total=0", and the same for "full".
 */
import type { PressureLine, PressureStats } from "../../../domain/stats/stats-reading.ts";
import { readText } from "./small-files.ts";

const NONE: PressureLine = { totalUs: 0, avg10: 0, avg60: 0, avg300: 0 };

export function readPressure(path: string): PressureStats | undefined {
  const text = readText(path);
  return text === undefined || text === "" ? undefined : parsePressure(text);
}

function parsePressure(text: string): PressureStats {
  const lines = text.split("\n");
  const line = (kind: string) => parseLine(lines.find((each) => each.startsWith(`${kind} `)));
  return { full: line("full"), some: line("some") };
}

function parseLine(line: string | undefined): PressureLine {
  if (line === undefined) return NONE;
  const fields = new Map(
    line
      .split(" ")
      .slice(1)
      .map((field) => field.split("=") as [string, string]),
  );
  const value = (name: string) => Number(fields.get(name) ?? 0);
  return { totalUs: value("total"), avg10: value("avg10"), avg60: value("avg60"), avg300: value("avg300") };
}
