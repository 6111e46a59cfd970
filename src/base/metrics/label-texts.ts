/**
 * Formats labels for the exposition. Many families share one label list as the same object, so each list is escaped
 * once.
 */
import { ByteText } from "../byte-text.ts";
import type { Labels } from "./family.ts";

/** Capacity for a few hundred label lists. Existing texts stay valid when the buffer grows. */
const STOCK_BYTES = 64 * 1024;

export class LabelTexts {
  /** With braces; empty for an empty label list. */
  readonly #whole = new Map<Labels, Uint8Array>();
  /** Each label separately. */
  readonly #parts = new Map<Labels, readonly Uint8Array[]>();
  readonly #stock = new ByteText(STOCK_BYTES);

  braced(labels: Labels): Uint8Array {
    const known = this.#whole.get(labels);
    if (known !== undefined) return known;
    const text = this.plain(labels.length === 0 ? "" : `{${labelText(labels)}}`);
    this.#whole.set(labels, text);
    return text;
  }

  /** Merges both lists, each already sorted by label name, and keeps that order. */
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

/** Most label values need no escaping. */
const ESCAPED = /[\\\n"]/;

export function escapeValue(text: string): string {
  return ESCAPED.test(text) ? escapeLines(text).replaceAll('"', '\\"') : text;
}

export function escapeLines(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
