/**
 * Parses the text of a flag and combines repeated flags: the last one wins, but lists and maps accumulate. Errors have
 * Go's wording, which users know.
 */

import { assertNever } from "../../base/assert.ts";
import { parseGoDuration } from "../../base/duration.ts";
import { goQuote } from "../../base/go-text.ts";
import { labelKeyTroubles, labelValueTroubles } from "../../base/names.ts";
import { parseQuantity } from "../../base/quantity.ts";
import type { FlagSyntax } from "./flag-table.ts";
import { INT32, INT64, LEVEL, parseCsvLine, parseGoBool, parseGoInteger, parseIpFlag, SyntaxFault } from "./go-text.ts";
import { TAINT_EFFECTS } from "./names.ts";
import type { MemoryReservation, ModuleVerbosity, Taint, Value } from "./value-types.ts";

/** `earlier` is the value from earlier uses of the flag on this command line. */
export function flagValue(syntax: FlagSyntax, text: string, earlier: Value | undefined): Value | undefined {
  switch (syntax) {
    case "bool":
    case "help":
      return parseGoBool(text);
    case "int32":
      return Number(parseGoInteger(text, INT32));
    case "int64":
      return parseGoInteger(text, INT64);
    case "level":
      return Number(parseGoInteger(text, LEVEL));
    case "string":
      return text;
    case "ip":
      return parseIpFlag(text);
    case "duration":
      return parseGoDuration(text);
    case "quantity":
      return parseQuantity(text);
    case "list":
      return [...((earlier as readonly string[] | undefined) ?? []), ...parseCsvLine(text)];
    case "map":
      return { ...(earlier as object), ...pairs(filled(text.split(",")), "=") };
    case "pair":
      return { ...(earlier as object), ...pairs([text], "=") };
    case "thresholds":
      return { ...(earlier as object), ...pairs(filled(text.split(",")), "<") };
    case "gates":
      return { ...(earlier as object), ...gates(text) };
    case "labels":
      return { ...(earlier as object), ...labels(text) };
    case "headers":
      return headers(text, (earlier as Readonly<Record<string, readonly string[]>> | undefined) ?? {});
    case "taints":
      return text === "" ? undefined : taints(text);
    case "reservedMemory":
      return text === "" ? undefined : [...((earlier as readonly MemoryReservation[]) ?? []), ...reservations(text)];
    case "modules":
      return [...((earlier as readonly ModuleVerbosity[] | undefined) ?? []), ...modules(text)];
    case "version":
      return versionRequest(text);
    default:
      return assertNever(syntax);
  }
}

const filled = (texts: readonly string[]) => texts.filter((text) => text !== "");

function split(text: string, separator: string): readonly [string, string] | undefined {
  const at = text.indexOf(separator);
  return at < 0 ? undefined : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function pairs(texts: readonly string[], separator: "=" | "<"): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const pair = split(text, separator);
      if (pair === undefined) throw new SyntaxFault(`malformed pair, expect string${separator}string`);
      return pair;
    }),
  );
}

function gates(text: string): Readonly<Record<string, boolean>> {
  return Object.fromEntries(
    filled(text.split(",")).map((item) => {
      const pair = split(item, "=");
      if (pair === undefined) throw new SyntaxFault("malformed pair, expect string=bool");
      return [pair[0], gateValue(...pair)];
    }),
  );
}

function gateValue(name: string, value: string): boolean {
  try {
    return parseGoBool(value);
  } catch (error) {
    throw new SyntaxFault(`invalid value of ${name}: ${value}, err: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

const labels = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(filled(text.split(",")).map((item) => split(item, "=") ?? [item.trim(), ""]));

function headers(
  text: string,
  earlier: Readonly<Record<string, readonly string[]>>,
): Readonly<Record<string, readonly string[]>> {
  const all = new Map(Object.entries(earlier));
  for (const item of filled(text.split(","))) {
    const pair = split(item, ":");
    if (pair === undefined) throw new SyntaxFault("malformed pair, expect string:string");
    all.set(pair[0], [...(all.get(pair[0]) ?? []), pair[1]]);
  }
  return Object.fromEntries(all);
}

/**
 * "key=value:Effect", comma-separated. One that ends in "-" would remove a taint; there is none, so it is only
 * validated.
 */
function taints(text: string): readonly Taint[] {
  const found: Taint[] = [];
  for (const spec of text.split(",")) {
    const taint = taintOf(spec.endsWith("-") ? spec.slice(0, -1) : spec);
    if (spec.endsWith("-")) continue;
    if (taint.effect === "") throw new SyntaxFault(`invalid taint spec: ${spec}`);
    if (found.some(({ key, effect }) => key === taint.key && effect === taint.effect)) {
      throw new SyntaxFault(
        `duplicated taints with the same key and effect: {${taint.key} ${taint.value} ${taint.effect} <nil>}`,
      );
    }
    found.push(taint);
  }
  return found;
}

function taintOf(spec: string): Taint {
  const invalid = (why = "") => new SyntaxFault(`invalid taint spec: ${spec}${why}`);
  const [label = "", effect, ...more] = spec.split(":");
  if (more.length > 0) throw invalid();
  if (effect !== undefined && !TAINT_EFFECTS.includes(effect))
    throw new SyntaxFault(`invalid taint effect: ${effect}, unsupported taint effect`);
  const [key = "", value, ...rest] = effect === undefined ? [label] : label.split("=");
  if (rest.length > 0) throw invalid();
  const faults = [labelValueTroubles(value ?? ""), labelKeyTroubles(key)].find((each) => each.length > 0);
  if (faults !== undefined) throw invalid(`, ${faults.join("; ")}`);
  return { key, value: value ?? "", effect: effect ?? "", timeAdded: undefined };
}

/** "0:memory=1Gi,hugepages-1Gi=2Gi", NUMA nodes separated by semicolons. */
function reservations(text: string): readonly MemoryReservation[] {
  return text.split(";").map((item) => {
    const [node = "", limits, ...more] = item.split(":");
    if (limits === undefined || more.length > 0) {
      throw new SyntaxFault(
        `the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], got ${item}`,
      );
    }
    if (!/^[-+]?[0-9]+$/.test(node)) {
      throw new SyntaxFault(`failed to convert the NUMA node ID, expected integer, got ${node}`);
    }
    return { numaNode: Number(node), limits: Object.fromEntries(limits.split(",").map(memoryLimit)) };
  });
}

function memoryLimit(text: string) {
  const [name = "", amount, ...more] = text.split("=");
  if (amount === undefined || more.length > 0) {
    throw new SyntaxFault(`the reserved limit has incorrect value, expected type=quantity, got ${text}`);
  }
  if (name !== "memory" && !name.startsWith("hugepages-")) {
    throw new SyntaxFault(`memory type conversion error, unknown type: ${goQuote(name)}`);
  }
  try {
    return [name, parseQuantity(amount)] as const;
  } catch (error) {
    throw new SyntaxFault(`failed to parse the quantity: ${amount}`, { cause: error });
  }
}

function modules(text: string): readonly ModuleVerbosity[] {
  return filled(text.split(",")).map((item) => {
    const [filePattern = "", level = "", ...more] = item.split("=");
    if (filePattern === "" || level === "" || more.length > 0) {
      throw new SyntaxFault(`${goQuote(item)} does not have the pattern=N format`);
    }
    try {
      return { filePattern, verbosity: Number(parseGoInteger(level, LEVEL)) };
    } catch (error) {
      throw new SyntaxFault(`parsing verbosity in ${goQuote(item)}: ${(error as Error).message}`, { cause: error });
    }
  });
}

function versionRequest(text: string): string {
  if (text === "raw" || text.startsWith("v")) return text;
  return parseGoBool(text) ? "true" : "false";
}
