/**
 * Determines which directory of controllers reads and which writes a cell, from the types that its loops require:
 * `Latest` and `ReadonlyTable` read, `LatestCell` and `LatestTable` write. The members of a loop's parts have the
 * names of the cells.
 */
import { globSync, readFileSync } from "node:fs";
import { inRepository, repositoryRoot } from "./repository.ts";

export interface CellUse {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

const read = (path: string): string => readFileSync(inRepository(path), "utf8");

/** The cells that `src/app/wiring.ts` declares. */
export const cellNames = (): readonly string[] =>
  [...read("src/app/wiring.ts").matchAll(/^ {2}readonly (\w+): (?:Latest(?:Cell|Table)<|EndRequestTables\b)/gm)].map(
    ([, cell = ""]) => cell,
  );

type Access = "reads" | "writes" | undefined;

function accessOf(type: string, sources: readonly string[]): Access {
  if (/^Latest(?:Cell|Table)</.test(type)) return "writes";
  if (/^(?:Pick<)?(?:Latest|LatestCell|LatestTable|ReadonlyTable)</.test(type)) return "reads";
  const [, alias] = /^(\w+)$/.exec(type) ?? [];
  if (alias === undefined) return undefined;
  const definition = new RegExp(`^(?:export )?type ${alias} = (.+);$`, "m");
  const [found] = sources.flatMap((source) => definition.exec(source)?.[1] ?? []);
  return found === undefined ? undefined : accessOf(found, sources);
}

/** Each requester writes its own table of a cell. Maps the member of the requester's parts to the cell. */
const OWN_TABLES: Readonly<Record<string, string>> = { preemptions: "endRequests" };

/** A directory that writes a cell may read it too; such a read is not listed. */
export function cellUse(sources: readonly string[], cells: readonly string[]): CellUse {
  const found = { reads: new Set<string>(), writes: new Set<string>() };
  for (const source of sources) {
    for (const [, name = "", type = ""] of source.matchAll(/\breadonly (\w+)\??: ([^;]+);/g)) {
      const cell = OWN_TABLES[name] ?? name;
      const access = cells.includes(cell) ? accessOf(type.trim(), sources) : undefined;
      if (access !== undefined) found[access].add(cell);
    }
  }
  return {
    reads: cells.filter((cell) => found.reads.has(cell) && !found.writes.has(cell)),
    writes: cells.filter((cell) => found.writes.has(cell)),
  };
}

export const cellUseOf = (directory: string, cells: readonly string[] = cellNames()): CellUse =>
  cellUse(
    globSync(`${directory}/*.ts`, { cwd: repositoryRoot })
      .filter((path) => !path.endsWith(".test.ts"))
      .map(read),
    cells,
  );

const listed = (cells: readonly string[]) =>
  cells.length === 0 ? "none" : cells.map((cell) => `\`${cell}\``).join(", ");

export const cellUseAsMarkdown = ({ reads, writes }: CellUse): string =>
  `- Reads the cells: ${listed(reads)}\n- Writes the cells: ${listed(writes)}`;
