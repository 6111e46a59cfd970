/** Labels as the exposition writes them. One row of labels is told of in many families, as the same object: it is escaped once. */
import { ByteText } from "../byte-text.ts";
import type { Labels } from "./family.ts";

/** Room for a few hundred rows. When it grows, the texts that are there already stay where they are. */
const STOCK_BYTES = 64 * 1024;

export class LabelTexts {
  /** With their braces; nothing where there are no labels. */
  readonly #whole = new Map<Labels, Uint8Array>();
  /** Each by itself. */
  readonly #parts = new Map<Labels, readonly Uint8Array[]>();
  readonly #stock = new ByteText(STOCK_BYTES);

  braced(labels: Labels): Uint8Array {
    const known = this.#whole.get(labels);
    if (known !== undefined) return known;
    const text = this.plain(labels.length === 0 ? "" : `{${labelText(labels)}}`);
    this.#whole.set(labels, text);
    return text;
  }

  /** Both, which are in the order of their names, in that order. */
  addBraced(out: ByteText, labels: Labels, more: Labels): void {
    const parts = this.#partsOf(labels);
    const others = this.#partsOf(more);
    let index = 0;
    let next = 0;
    out.addText("{");
    while (index < parts.length || next < others.length) {
      if (index + next > 0) out.addText(",");
      const isFirst = next >= others.length || nameAt(labels, index) < nameAt(more, next);
      const part = isFirst && index < parts.length ? parts[index++] : others[next++];
      if (part !== undefined) out.add(part);
    }
    out.addText("}");
  }

  #partsOf(labels: Labels): readonly Uint8Array[] {
    const known = this.#parts.get(labels);
    if (known !== undefined) return known;
    const parts = labels.map((label) => this.plain(labelText([label])));
    this.#parts.set(labels, parts);
    return parts;
  }

  plain(text: string): Uint8Array {
    const start = this.#stock.length;
    this.#stock.addText(text);
    return this.#stock.from(start);
  }
}

const nameAt = (labels: Labels, index: number): string => labels[index]?.[0] ?? "";

export const labelText = (labels: Labels): string =>
  labels.map(([name, value]) => `${name}="${escapeValue(value)}"`).join(",");

/** Most need none. */
const ESCAPED = /[\\\n"]/;

export function escapeValue(text: string): string {
  return ESCAPED.test(text) ? escapeLines(text).replaceAll('"', '\\"') : text;
}

export function escapeLines(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
