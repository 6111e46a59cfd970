/**
 * Parses metrics in the Prometheus text format or in OpenMetrics, strictly: anything unknown is an error with its line.
 */
import { type ExpositionFormat, writeExposition } from "../../src/base/metrics/exposition.ts";
import type { Family } from "../../src/base/metrics/family.ts";

export const expositionText = (families: Iterable<Family>, format: ExpositionFormat): string =>
  Buffer.from(writeExposition(families, format)).toString("utf8");

export interface ReadSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly atText: string | undefined;
}

export interface ReadFamily {
  readonly name: string;
  readonly help: string;
  readonly kind: string;
  readonly samples: readonly ReadSample[];
}

const HEAD = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/s;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: (\S+))?$/s;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(,|$)/y;

export function readExposition(text: string, format: "text" | "openMetrics" = "text"): ReadonlyMap<string, ReadFamily> {
  const families = new Map<string, { name: string; help: string; kind: string; samples: ReadSample[] }>();
  if (text !== "" && !text.endsWith("\n")) throw new Error("the last line is not ended");
  const lines = text.split("\n").slice(0, -1);
  if (format === "openMetrics" && lines.pop() !== "# EOF") throw new Error("the end is not marked");
  let current: { name: string; help: string; kind: string; samples: ReadSample[] } | undefined;
  for (const line of lines) {
    const head = HEAD.exec(line);
    if (head !== null) {
      const [, what, name = "", rest = ""] = head;
      if (what === "HELP") {
        if (families.has(name)) throw new Error(`twice: ${line}`);
        current = { name, help: unescape(rest), kind: "", samples: [] };
        families.set(name, current);
      } else if (current?.name === name && current.kind === "") current.kind = rest;
      else throw new Error(`a type out of place: ${line}`);
      continue;
    }
    if (line.startsWith("#")) throw new Error(`an unknown comment: ${line}`);
    const sample = readSample(line);
    if (current === undefined || !belongs(sample.name, current)) throw new Error(`a sample out of place: ${line}`);
    current.samples.push(sample);
  }
  return families;
}

function belongs(sample: string, { name, kind }: { readonly name: string; readonly kind: string }): boolean {
  if (kind === "histogram") return ["_bucket", "_sum", "_count"].some((end) => sample === `${name}${end}`);
  if (kind === "summary") return ["", "_sum", "_count"].some((end) => sample === `${name}${end}`);
  return sample === name || (kind === "counter" && sample === `${name}_total`);
}

function readSample(line: string): ReadSample {
  const match = SAMPLE.exec(line);
  if (match === null) throw new Error(`no sample: ${line}`);
  const [, name = "", labels = "", value = "", atText] = match;
  return { name, labels: readLabels(labels, line), value: readNumber(value, line), atText };
}

function readLabels(text: string, line: string): Readonly<Record<string, string>> {
  const labels: [string, string][] = [];
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const match = LABEL.exec(text);
    if (match === null) throw new Error(`no labels: ${line}`);
    labels.push([match[1] ?? "", unescape(match[2] ?? "")]);
  }
  if (new Set(labels.map(([name]) => name)).size < labels.length) throw new Error(`a label twice: ${line}`);
  return Object.fromEntries(labels);
}

function readNumber(text: string, line: string): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  if (text === "-Inf") return Number.NEGATIVE_INFINITY;
  const value = Number(text);
  if (Number.isNaN(value) && text !== "NaN") throw new Error(`no number: ${line}`);
  return value;
}

const unescape = (text: string): string =>
  text.replaceAll(/\\([\\n"])/g, (_, letter: string) => (letter === "n" ? "\n" : letter));
