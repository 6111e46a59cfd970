/**
 * Families of metrics as text: the format of Prometheus, 0.0.4, and OpenMetrics 1.0.0. Written as Go's client library writes them, so that what
 * reads one reads the other. Names are the caller's and taken as they are; help texts and values of labels are escaped.
 */
import { ByteText } from "../byte-text.ts";
import type { Family, HistogramSample, Sample } from "./family.ts";
import { goNumber } from "./go-number.ts";
import { escapeLines, escapeValue, LabelTexts, labelText } from "./label-texts.ts";

export type ExpositionFormat = "text" | "openMetrics";

interface Style {
  readonly escapeHelp: (text: string) => string;
  readonly number: (out: ByteText, value: number) => void;
  /** Of a histogram's observations. */
  readonly count: (out: ByteText, count: number) => void;
  readonly time: (out: ByteText, wallMs: number) => void;
}

const STYLES: Readonly<Record<ExpositionFormat, Style>> = {
  text: {
    escapeHelp: escapeLines,
    number: plainNumber,
    count: plainNumber,
    time: (out, wallMs) => out.addWhole(wallMs),
  },
  openMetrics: {
    escapeHelp: escapeValue,
    number: pointedNumber,
    count: (out, count) => out.addText(String(count)),
    time: (out, wallMs) => pointedNumber(out, wallMs / 1000),
  },
};

const CHUNK_BYTES = 64 * 1024;
/** For the lines that reach beyond the end of a chunk. */
const MARGIN_BYTES = 4 * 1024;

export function writeExposition(families: Iterable<Family>, format: ExpositionFormat): Uint8Array<ArrayBuffer> {
  const whole = new ByteText(CHUNK_BYTES);
  for (const chunk of expositionChunks(families, format)) whole.add(chunk);
  return whole.written;
}

/** The same in pieces, all in one place: each is good until the next is asked for. */
export function* expositionChunks(
  families: Iterable<Family>,
  format: ExpositionFormat,
): Generator<Uint8Array<ArrayBuffer>, void> {
  const style = STYLES[format];
  const out = new ByteText(CHUNK_BYTES + MARGIN_BYTES);
  const texts = new LabelTexts();
  for (const family of families) {
    writeHead(out, family, format);
    if (family.kind === "histogram") {
      for (const sample of family.samples) writeHistogram(out, family.name, sample, style);
    } else {
      const name = texts.plain(family.name);
      for (const sample of family.samples) {
        writeSample(out, name, sample, texts, style);
        if (out.length >= CHUNK_BYTES) {
          yield out.written;
          out.clear();
        }
      }
    }
  }
  if (format === "openMetrics") out.addText("# EOF\n");
  if (out.length > 0) yield out.written;
}

const TOTAL = "_total";

function writeHead(out: ByteText, { name, help, kind }: Family, format: ExpositionFormat): void {
  const isTotal = kind === "counter" && name.endsWith(TOTAL);
  const renamed = format === "openMetrics" && isTotal ? name.slice(0, -TOTAL.length) : name;
  // A counter of OpenMetrics is called so: one of another name is none there.
  const type = format === "openMetrics" && kind === "counter" && !isTotal ? "unknown" : kind;
  out.addText(`# HELP ${renamed} ${STYLES[format].escapeHelp(help)}\n# TYPE ${renamed} ${type}\n`);
}

function writeSample(out: ByteText, name: Uint8Array, sample: Sample, texts: LabelTexts, style: Style): void {
  const { labels, more, value, atWallMs } = sample;
  out.add(name);
  if (more === undefined) out.add(texts.braced(labels));
  else texts.addBraced(out, labels, more);
  out.addText(" ");
  style.number(out, value);
  if (atWallMs !== undefined) {
    out.addText(" ");
    style.time(out, atWallMs);
  }
  out.addText("\n");
}

function writeHistogram(out: ByteText, name: string, sample: HistogramSample, style: Style): void {
  const text = labelText(sample.labels);
  const before = text === "" ? "" : `${text},`;
  for (const [upTo, count] of sample.buckets) {
    out.addText(`${name}_bucket{${before}le="`);
    style.number(out, upTo);
    out.addText('"} ');
    style.count(out, count);
    out.addText("\n");
  }
  const braces = text === "" ? "" : `{${text}}`;
  out.addText(`${name}_bucket{${before}le="+Inf"} `);
  style.count(out, sample.count);
  out.addText(`\n${name}_sum${braces} `);
  style.number(out, sample.sum);
  out.addText(`\n${name}_count${braces} `);
  style.count(out, sample.count);
  out.addText("\n");
}

/** What most numbers are: whole, and small enough to be written with all their digits. */
const PLAIN_MAX = 1e6;

function plainNumber(out: ByteText, value: number): void {
  if (value >= 0 && value < PLAIN_MAX && Number.isInteger(value)) out.addWhole(value);
  else out.addText(goNumber(value));
}

/** OpenMetrics tells a whole number from a count of things by its point. */
function pointedNumber(out: ByteText, value: number): void {
  const text = goNumber(value);
  out.addText(/^-?\d+$/.test(text) ? `${text}.0` : text);
}
