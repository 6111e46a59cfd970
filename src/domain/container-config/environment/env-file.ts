/**
 * Parses a file of variables that an init container wrote: lines of `NAME='value'`, where a value may span several
 * lines and nothing inside it is special. Comments begin with `#`. Everything else is refused, because a file that a
 * shell would read differently must not be partly understood.
 */
import { utf8Bytes } from "../../../base/utf8.ts";

export type EnvFileAnswer =
  | { readonly kind: "value"; readonly value: Uint8Array }
  /** The key is not in the file, or has no value. */
  | { readonly kind: "absent" }
  | { readonly kind: "refused"; readonly message: string };

/** Longer lines are refused. */
const LINE_BYTES_MAX = 64 * 1024 - 1;

/** Returns the first value of the key. Lines after it are not parsed. */
export function valueInEnvFile(content: Uint8Array, key: string): EnvFileAnswer {
  const wanted = binary(utf8Bytes(key));
  const lines = linesOf(content);
  for (let at = 0; at < lines.length; at += 1) {
    const line = (lines[at] ?? "").replace(/^[ \t]+/, "");
    if (line.length > LINE_BYTES_MAX) return refused(`the line ${at + 1} is too long`);
    if (line === "" || line.startsWith("#")) continue;
    const parsed = assignmentOf(line, at + 1);
    if (parsed.kind === "refused") return parsed;
    const { name, rest } = parsed;
    if (rest === undefined) {
      if (name === wanted) return { kind: "absent" };
      continue;
    }
    const quoted = quotedFrom(lines, at, rest);
    if (quoted.kind === "refused") return quoted;
    if (name === wanted)
      return quoted.value === "" ? { kind: "absent" } : { kind: "value", value: bytes(quoted.value) };
    at = quoted.endsAt;
  }
  return { kind: "absent" };
}

type Refused = Extract<EnvFileAnswer, { kind: "refused" }>;
const refused = (message: string): Refused => ({ kind: "refused", message });
const invalid = (where: string, what: string) => refused(`invalid environment variable format ${where}: ${what}`);

/**
 * `rest` is the text after the opening quote; undefined: a blank follows the equals sign, which makes the value empty.
 */
function assignmentOf(
  line: string,
  number: number,
): { readonly kind: "assigns"; readonly name: string; readonly rest: string | undefined } | Refused {
  const where = `at line ${number}`;
  const equals = line.indexOf("=");
  if (equals < 0) return invalid(where, "missing '='");
  const name = line.slice(0, equals).replace(/[ \t]+$/, "");
  if (name === "") return invalid(where, "empty variable name");
  if (name.length < equals) return invalid(where, "whitespace before '=' is not allowed");
  const value = line.slice(equals + 1);
  if (/^[ \t]/.test(value)) return { kind: "assigns", name, rest: undefined };
  if (!value.startsWith("'")) return invalid(where, "value must be enclosed in single quotes");
  return { kind: "assigns", name, rest: value.slice(1) };
}

function quotedFrom(
  lines: readonly string[],
  from: number,
  rest: string,
): { readonly kind: "quoted"; readonly value: string; readonly endsAt: number } | Refused {
  const parts: string[] = [];
  for (let at = from; at < lines.length; at += 1) {
    const line = at === from ? rest : (lines[at] ?? "");
    if (line.length > LINE_BYTES_MAX) break;
    const closing = line.indexOf("'");
    if (closing >= 0) {
      const after = line.slice(closing + 1).replace(/^[ \t]+/, "");
      if (after !== "" && !after.startsWith("#")) {
        return invalid(`at line ${at + 1}`, "unexpected content after closing quote");
      }
      return { kind: "quoted", value: [...parts, line.slice(0, closing)].join("\n"), endsAt: at };
    }
    parts.push(line);
  }
  return invalid(`starting at line ${from + 1}`, "unclosed single quote");
}

/** A newline at the end begins no further line, and a carriage return before a newline belongs to the newline. */
function linesOf(content: Uint8Array): readonly string[] {
  const lines = binary(content).split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => line.replace(/\r$/, ""));
}

/** One character per byte, so that values that are not valid UTF-8 are preserved. */
function binary(content: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < content.length; at += 4096) parts.push(String.fromCharCode(...content.subarray(at, at + 4096)));
  return parts.join("");
}

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));
