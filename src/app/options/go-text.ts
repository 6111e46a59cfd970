/** Parses and prints text as Go does, since tools around the kubelet match its messages. */
import { isIP } from "node:net";
import { goQuote } from "../../base/go-text.ts";

/** Formats like %v of a slice. */
export const goList = (items: readonly string[]): string => `[${items.join(" ")}]`;

const TRUE = new Set(["1", "t", "T", "true", "TRUE", "True"]);
const FALSE = new Set(["0", "f", "F", "false", "FALSE", "False"]);

/** The text does not have the expected type. The message is Go's, which users know. */
export class SyntaxFault extends Error {
  override readonly name = "SyntaxFault";
}

export function parseGoBool(text: string): boolean {
  if (TRUE.has(text)) return true;
  if (FALSE.has(text)) return false;
  throw new SyntaxFault(`strconv.ParseBool: parsing ${goQuote(text)}: invalid syntax`);
}

interface IntegerKind {
  readonly name: string;
  readonly min: bigint;
  readonly max: bigint;
  /** Accepts 0x, 0o, 0b and underscores, as Go does for base 0. */
  readonly prefixes: boolean;
}

const signed = (bits: bigint) => ({ name: "ParseInt", min: -(2n ** (bits - 1n)), max: 2n ** (bits - 1n) - 1n });
export const INT32: IntegerKind = { ...signed(32n), prefixes: true };
export const INT64: IntegerKind = { ...signed(64n), prefixes: true };
/** A verbosity is unsigned, but must be below 2³¹. */
export const LEVEL: IntegerKind = { name: "ParseUint", min: 0n, max: 2n ** 31n - 1n, prefixes: false };

const DECIMAL = /^[-+]?[0-9]+$/;
const PREFIXED = /^[-+]?(?:0[xX](?:_?[0-9a-fA-F])+|0[oO]?(?:_?[0-7])+|0[bB](?:_?[01])+|0|[1-9](?:_?[0-9])*)$/;

export function parseGoInteger(text: string, { name, min, max, prefixes }: IntegerKind): bigint {
  const fault = (why: string) => new SyntaxFault(`strconv.${name}: parsing ${goQuote(text)}: ${why}`);
  const fits = (prefixes ? PREFIXED : DECIMAL).test(text) && (min < 0n || /^[0-9]/.test(text));
  if (!fits) throw fault("invalid syntax");
  const digits = text.replace(/^[-+]/, "").replaceAll("_", "");
  const octal = prefixes && /^0[0-7]/.test(digits);
  const magnitude = BigInt(octal ? `0o${digits.slice(1)}` : digits);
  const value = text.startsWith("-") ? -magnitude : magnitude;
  if (value < min || value > max) throw fault("value out of range");
  return value;
}

export function parseIpFlag(text: string): string {
  const trimmed = text.trim();
  if (isIP(trimmed) === 0 || trimmed.includes("%")) throw new SyntaxFault(`${goQuote(text)} is not a valid IP address`);
  return trimmed;
}

/** Parses one line of comma-separated values, with quotes as in a spreadsheet. */
export function parseCsvLine(text: string): readonly string[] {
  if (text === "") return [];
  const cells: string[] = [];
  let rest = text;
  for (;;) {
    const quoted = /^"((?:[^"]|"")*)"(?=,|$)/.exec(rest);
    const plain = /^[^,"]*(?=,|$)/.exec(rest);
    const cell = quoted ?? plain;
    if (cell === null) throw new SyntaxFault('parse error on line 1, column 1: bare " in non-quoted-field');
    cells.push(quoted === null ? cell[0] : (quoted[1] ?? "").replaceAll('""', '"'));
    if (cell[0].length === rest.length) return cells;
    rest = rest.slice(cell[0].length + 1);
  }
}
