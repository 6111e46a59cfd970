/**
 * Writes metric families in the Prometheus text format 0.0.4 or in OpenMetrics 1.0.0. The output follows Go's client
 * library, so any reader of that reads this too. Metric names are written as given; help texts and label values are
 * escaped.
 */
import { ByteText } from "../byte-text.ts";
import type { Family, HistogramSample, Sample } from "./family.ts";
import { goNumber } from "./go-number.ts";
import { escapeLines, escapeValue, LabelTexts, labelText } from "./label-texts.ts";

export type ExpositionFormat = "text" | "openMetrics";

interface Style {
  readonly escapeHelp: (text: string) => string;
  readonly number: (out: ByteText, value: number) => void;
  /** Writes the observation count of a histogram. */
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
/** Capacity for the lines that extend beyond the end of a chunk. */
const MARGIN_BYTES = 4 * 1024;

export function writeExposition(families: Iterable<Family>, format: ExpositionFormat): Uint8Array<ArrayBuffer> {
  const whole = new ByteText(CHUNK_BYTES);
  for (const chunk of expositionChunks(families, format)) whole.add(chunk);
  return whole.written;
}

/** Yields the same text in chunks. All chunks share one buffer: each is valid only until the next one is requested. */
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
  // In OpenMetrics a counter's name must end in `_total`; a counter with any other name has the type "unknown".
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

/** Most values are whole numbers below this, which are written with all their digits. */
const PLAIN_MAX = 1e6;

function plainNumber(out: ByteText, value: number): void {
  if (value >= 0 && value < PLAIN_MAX && Number.isInteger(value)) out.addWhole(value);
  else out.addText(goNumber(value));
}

/** OpenMetrics writes a whole-numbered value with a decimal point, unlike a count. */
function pointedNumber(out: ByteText, value: number): void {
  const text = goNumber(value);
  out.addText(/^-?\d+$/.test(text) ? `${text}.0` : text);
}
