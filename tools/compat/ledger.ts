/** Parses the ledger from YAML into a union per state, or throws an error that names the invalid entry. */
import { parse } from "yaml";
import { assertNever } from "../../src/base/assert.ts";
import { type Fields, fields, list, optional, record, ShapeError, text } from "../shape.ts";
import { isUpstream } from "./proofs.ts";

export const priorities = ["P0", "P1", "P2", "P3", "contract"] as const;
export type Priority = (typeof priorities)[number];

export type Standing =
  | {
      readonly kind: "done";
      /** Test files whose tests name the row's id in brackets, or `upstream:<title>`. */
      readonly proofs: readonly string[];
      readonly differs?: Deviation;
      /** Why a pure test is enough; without it the row needs a proof on real parts. */
      readonly exact?: string;
    }
  | { readonly kind: "partial"; readonly proofs: readonly string[]; readonly waits: string }
  | { readonly kind: "todo" }
  | { readonly kind: "wont"; readonly reason: string };

/** What Deckhand does differently on purpose. */
export interface Deviation {
  readonly what: string;
  /** Who can observe it. */
  readonly observers: string;
  readonly risk: string;
  /** Restores the Go kubelet's behavior. */
  readonly setting?: string;
}

export interface Row {
  readonly id: string;
  readonly title: string;
  readonly priority: Priority;
  readonly standing: Standing;
}

export interface Ledger {
  /** Maps a section's number to its name. */
  readonly areas: Readonly<Record<string, string>>;
  readonly rows: readonly Row[];
}

/** The keys an entry may have besides id, title, prio and state. The parser of each state finds a missing key. */
const keysOf: Readonly<Record<Standing["kind"], readonly string[]>> = {
  done: ["proofs", "differs", "exact"],
  partial: ["proofs", "waits"],
  todo: [],
  wont: ["reason"],
};

export function parseLedger(source: string): Ledger {
  const ledger = fields(parse(source), "ledger");
  return {
    areas: record(ledger["areas"], "areas", text),
    rows: list(ledger["rows"], "rows", parseRow),
  };
}

function parseRow(value: unknown, where: string): Row {
  const row = fields(value, where);
  const id = text(row["id"], `${where}.id`);
  return {
    id,
    title: text(row["title"], `row ${id}: title`),
    priority: oneOf(priorities, row["prio"], `row ${id}: prio`),
    standing: parseStanding(row, `row ${id}`),
  };
}

function parseStanding(row: Fields, where: string): Standing {
  const kind = oneOf(["done", "partial", "todo", "wont"] as const, row["state"], `${where}: state`);
  const allowed = new Set(["id", "title", "prio", "state", ...keysOf[kind]]);
  const stray = Object.keys(row).find((key) => !allowed.has(key));
  if (stray !== undefined) throw new ShapeError(`${where}: "${stray}" does not go with state ${kind}`);
  switch (kind) {
    case "done": {
      const differs = optional(row["differs"], `${where}: differs`, deviationOf);
      const exact = optional(row["exact"], `${where}: exact`, text);
      return {
        kind,
        proofs: proofsOf(row, where),
        ...(differs === undefined ? {} : { differs }),
        ...(exact === undefined ? {} : { exact }),
      };
    }
    case "partial":
      if (row["waits"] === undefined) throw new ShapeError(`${where}: partial without "waits"`);
      return { kind, proofs: proofsOf(row, where), waits: text(row["waits"], `${where}: waits`) };
    case "todo":
      return { kind };
    case "wont":
      return { kind, reason: text(row["reason"], `${where}: reason`) };
    default:
      return assertNever(kind);
  }
}

function deviationOf(value: unknown, where: string): Deviation {
  const entry = fields(value, where);
  const part = (key: string) => text(entry[key], `${where}: ${key}`);
  const stray = Object.keys(entry).find((key) => !DEVIATION_KEYS.includes(key));
  if (stray !== undefined) throw new ShapeError(`${where}: unknown key "${stray}"`);
  return {
    what: part("what"),
    observers: part("observers"),
    risk: part("risk"),
    ...(entry["setting"] === undefined ? {} : { setting: part("setting") }),
  };
}

const DEVIATION_KEYS: readonly string[] = ["what", "observers", "risk", "setting"];

function proofsOf(row: Fields, where: string): readonly string[] {
  const proofs = row["proofs"] === undefined ? [] : list(row["proofs"], `${where}: proofs`, proofOf);
  if (proofs.length === 0) throw new ShapeError(`${where}: state ${String(row["state"])} without a proof`);
  const twice = proofs.find((proof, index) => proofs.indexOf(proof) !== index);
  if (twice !== undefined) throw new ShapeError(`${where}: the proof ${twice} is listed twice`);
  return proofs;
}

function proofOf(value: unknown, where: string): string {
  const proof = text(value, where);
  if (isUpstream(proof) || /^\S+\.ts$/.test(proof)) return proof;
  throw new ShapeError(`${where}: a test file or "upstream:<title>" expected, found "${proof}"`);
}

function oneOf<T extends string>(known: readonly T[], value: unknown, where: string): T {
  const found = known.find((each) => each === value);
  if (found === undefined)
    throw new ShapeError(`${where}: one of ${known.join(", ")} expected, found ${String(value)}`);
  return found;
}

/** Parses the frozen list: ID → priority. */
export function parseIds(source: string): ReadonlyMap<string, Priority> {
  const byPriority = fields(parse(source), "ids");
  const ids = priorities.flatMap((priority) =>
    text(byPriority[priority], `ids: ${priority}`)
      .split(/\s+/)
      .map((id) => [id, priority] as const),
  );
  return new Map(ids);
}
