/**
 * Parses the command line by pflag's rules: `--name value`, `--name=value`, `-v4`, booleans without a value, `_` for
 * `-`.
 */
import { errorText } from "../../base/error-text.ts";
import type { AgentFlagName } from "./agent-flags.ts";
import type { FieldPath } from "./fields.ts";
import { FLAGS, type Flag } from "./flag-table.ts";
import { flagValue } from "./flag-values.ts";
import type { Value } from "./value-types.ts";

/** The command line cannot be parsed. */
export class FlagFault extends Error {
  override readonly name = "FlagFault";
}

export interface ParsedFlags {
  /** Undefined: the flag was given and removes the value. */
  readonly fields: ReadonlyMap<FieldPath, Value | undefined>;
  readonly agent: ReadonlyMap<AgentFlagName, Value>;
  readonly positional: readonly string[];
  readonly help: boolean;
  /** "true", "false", "raw" or a text that starts with "v", as given with --version. */
  readonly version: string;
  /** What pflag prints for each deprecated flag, in order. */
  readonly deprecations: readonly string[];
}

const byName = new Map(FLAGS.map((flag) => [flag.name, flag]));
const byShorthand = new Map(FLAGS.flatMap((flag) => (flag.shorthand === undefined ? [] : [[flag.shorthand, flag]])));

/** Flags that need no value. */
const takesNone = ({ syntax }: Flag) => syntax === "bool" || syntax === "help" || syntax === "version";

export function parseFlags(args: readonly string[]): ParsedFlags {
  const state = new Command();
  const rest = [...args];
  while (rest.length > 0) {
    const word = rest.shift() ?? "";
    if (word === "--") {
      state.positional.push(...rest.splice(0));
    } else if (word.startsWith("--")) {
      longFlag(word, rest, state);
    } else if (word.startsWith("-") && word.length > 1) {
      shortFlags(word, rest, state);
    } else {
      state.positional.push(word);
    }
  }
  return state;
}

class Command implements ParsedFlags {
  readonly fields = new Map<FieldPath, Value | undefined>();
  readonly agent = new Map<AgentFlagName, Value>();
  readonly positional: string[] = [];
  readonly deprecations: string[] = [];
  help = false;
  version = "false";

  set(flag: Flag, text: string): void {
    const { target } = flag;
    const value = this.#read(flag, text);
    if (target.kind === "field") this.fields.set(target.path, value);
    else if (target.kind === "help") this.help = value === true;
    else if (target.kind === "version") this.version = typeof value === "string" ? value : "false";
    else if (value !== undefined) this.agent.set(target.name, value);
    if (flag.deprecated !== undefined) {
      this.deprecations.push(`Flag --${flag.name} has been deprecated, ${flag.deprecated}`);
    }
  }

  #read({ name, shorthand, syntax, target }: Flag, text: string): Value | undefined {
    const earlier =
      target.kind === "field"
        ? this.fields.get(target.path)
        : target.kind === "agent"
          ? this.agent.get(target.name)
          : undefined;
    try {
      return flagValue(syntax, text, earlier);
    } catch (error) {
      const names = shorthand === undefined ? `--${name}` : `-${shorthand}, --${name}`;
      const why = errorText(error);
      throw new FlagFault(`invalid argument ${JSON.stringify(text)} for ${JSON.stringify(names)} flag: ${why}`, {
        cause: error,
      });
    }
  }
}

function longFlag(word: string, rest: string[], state: Command): void {
  const equals = word.indexOf("=");
  const written = equals < 0 ? word.slice(2) : word.slice(2, equals);
  if (written === "" || written.startsWith("-")) throw new FlagFault(`bad flag syntax: ${word}`);
  const flag = byName.get(written.replaceAll("_", "-"));
  if (flag === undefined) throw new FlagFault(`unknown flag: --${written}`);
  if (equals >= 0) return state.set(flag, word.slice(equals + 1));
  if (takesNone(flag)) return state.set(flag, "true");
  const value = rest.shift();
  if (value === undefined) throw new FlagFault(`flag needs an argument: --${written}`);
  state.set(flag, value);
}

/** Letters may be combined; the first flag that takes a value takes the rest of the argument. */
function shortFlags(word: string, rest: string[], state: Command): void {
  let letters = word.slice(1);
  while (letters !== "") {
    const letter = letters.slice(0, 1);
    const flag = byShorthand.get(letter);
    if (flag === undefined) throw new FlagFault(`unknown shorthand flag: '${letter}' in -${letters}`);
    const after = letters.slice(1);
    if (after.startsWith("=") && after.length > 1) return state.set(flag, after.slice(1));
    if (takesNone(flag)) {
      state.set(flag, "true");
      letters = after;
    } else if (after !== "") {
      return state.set(flag, after);
    } else {
      const value = rest.shift();
      if (value === undefined) throw new FlagFault(`flag needs an argument: '${letter}' in -${letters}`);
      return state.set(flag, value);
    }
  }
}
