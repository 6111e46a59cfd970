/** Reads the samples of a resource probe, and computes how much a measure grows. */
import { readFile } from "node:fs/promises";
import type { ResourceFault, ResourceSample } from "./resource-probe.ts";

export interface Probed {
  readonly samples: readonly ResourceSample[];
  readonly faults: readonly string[];
}

export async function readProbe(file: string): Promise<Probed> {
  // The last line may be incomplete.
  const lines = (await readFile(file, "utf8")).split("\n").slice(0, -1);
  const read = lines.map((line) => JSON.parse(line) as ResourceSample | ResourceFault);
  return {
    samples: read.filter((line) => "atMs" in line),
    faults: read.filter((line) => "fault" in line).map(({ fault }) => fault),
  };
}

export type Measure = Exclude<keyof ResourceSample, "atMs">;

/** The growth of a measure in `spanMs`, by linear regression over all samples. */
export function growth(samples: readonly ResourceSample[], of: Measure, spanMs: number): number {
  const [times, values] = [samples.map(({ atMs }) => atMs), samples.map((sample) => sample[of])];
  const [meanTime, meanValue] = [mean(times), mean(values)];
  const above = times.reduce((sum, time, index) => sum + (time - meanTime) * ((values[index] ?? 0) - meanValue), 0);
  const below = times.reduce((sum, time) => sum + (time - meanTime) ** 2, 0);
  return (above / below) * spanMs;
}

/** The median of the last quarter minus the median of the first quarter. */
export function rise(samples: readonly ResourceSample[], of: Measure): number {
  const quarter = Math.ceil(samples.length / 4);
  const middle = (part: readonly ResourceSample[]) =>
    part.map((sample) => sample[of]).toSorted((a, b) => a - b)[Math.floor(part.length / 2)] ?? 0;
  return middle(samples.slice(-quarter)) - middle(samples.slice(0, quarter));
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
