/** Compares the ledger with the frozen ids and the recorded runs. Every disagreement is a problem that fails the check. */
import type { RunRecord } from "../testing/run-record.ts";
import type { Ledger, Priority, Row } from "./ledger.ts";
import { changedFiles, type FindProof, type Fingerprint, idsIn, isUpstream, proofFinder } from "./proofs.ts";

const IDS_PER_TITLE_MAX = 3;

export interface CheckedRow {
  readonly row: Row;
  /** Proofs of the row when none is fresh: the row counts as partial. */
  readonly staleProofs: readonly StaleProof[];
  /** The proofs that passed, in the ledger's order. */
  readonly evidence: readonly Evidence[];
}

export interface Evidence {
  /** As the ledger names it: a test file, or an upstream test. */
  readonly proof: string;
  /** How many tests of the file name the row. */
  readonly tests: number;
  /** The suite of the last run that contains them. */
  readonly suite: string;
}

interface StaleProof {
  /** As the ledger names it: a test file, or an upstream test. */
  readonly proof: string;
  readonly changed: readonly string[];
}

export interface Checked {
  readonly problems: readonly string[];
  readonly rows: readonly CheckedRow[];
}

export function checkLedger(
  ledger: Ledger,
  ids: ReadonlyMap<string, Priority>,
  runs: readonly RunRecord[],
  fingerprint: Fingerprint,
): Checked {
  const find = proofFinder(runs, fingerprint);
  const rows = ledger.rows.map((row) => checkRow(row, find));
  return {
    problems: [
      ...idProblems(ledger, ids),
      ...titleProblems(runs, ids, fingerprint),
      ...rows.flatMap((checked) => checked.problems),
    ],
    rows,
  };
}

function idProblems({ rows, areas }: Ledger, ids: ReadonlyMap<string, Priority>): readonly string[] {
  const byId = Map.groupBy(rows, (row) => row.id);
  const missing = [...ids.keys()].filter((id) => !byId.has(id)).map((id) => `${id} is missing from the ledger`);
  const twice = [...byId].filter(([, same]) => same.length > 1).map(([id]) => `${id} is in the ledger twice`);
  const wrong = rows.flatMap(({ id, priority }) => {
    const wanted = ids.get(id);
    if (wanted === undefined) return [`${id} is unknown: compat/ids.yaml does not list it`];
    if (wanted !== priority) return [`${id} is ${wanted}, the ledger says ${priority}`];
    return areaOf(id) in areas ? [] : [`${id} has no area: "${areaOf(id)}" is not in the ledger's areas`];
  });
  return [...missing, ...twice, ...wrong];
}

/** The ledger's area of a row: its ID without the last number. */
export const areaOf = (id: string): string => id.slice(0, id.lastIndexOf("."));

/** Titles of tests whose files changed since the run are not checked. */
function titleProblems(
  runs: readonly RunRecord[],
  ids: ReadonlyMap<string, Priority>,
  fingerprint: Fingerprint,
): readonly string[] {
  const fresh = runs.flatMap((run) => run.tests.filter((test) => changedFiles(run, [test], fingerprint).length === 0));
  const titles = new Map(fresh.map((test) => [test.name, test.file]));
  return [...titles].flatMap(([title, file]) => {
    const named = idsIn(title);
    const unknown = named.filter((id) => !ids.has(id)).map((id) => `${file}: "${title}" names ${id}, which is unknown`);
    if (new Set(named).size <= IDS_PER_TITLE_MAX) return unknown;
    return [...unknown, `${file}: "${title}" names more than ${IDS_PER_TITLE_MAX} ids`];
  });
}

function checkRow(row: Row, find: FindProof): CheckedRow & { readonly problems: readonly string[] } {
  const { id, standing } = row;
  if (standing.kind === "todo" || standing.kind === "wont") return { row, staleProofs: [], evidence: [], problems: [] };
  const problems: string[] = [];
  const staleProofs: StaleProof[] = [];
  const evidence: Evidence[] = [];
  let shownOnRealParts = false;
  for (const proof of standing.proofs) {
    const found = find(proof, id);
    if (found.kind === "unknown") {
      const what = isUpstream(proof) ? `its proof "${proof}"` : `a test of ${proof} that names it`;
      problems.push(`${id}: no recorded run holds ${what}`);
      continue;
    }
    if (found.kind === "failed") {
      const { failed, suite } = found;
      problems.push(
        ...failed.map((title) => `${id}: "${title}" (${proof}) did not pass in the last recorded run (${suite})`),
      );
    } else {
      evidence.push({ proof, tests: found.tests, suite: found.suite });
      if (found.stale.length > 0) staleProofs.push({ proof, changed: found.stale });
    }
    // Upstream's own tests run in a whole cluster.
    shownOnRealParts ||= isUpstream(proof) || found.isOnRealParts;
  }
  if (standing.kind === "done" && standing.exact === undefined && !shownOnRealParts) {
    problems.push(`${id} is done, but no proof ran Deckhand on real parts and no "exact" says why that is enough`);
  }
  return { row, problems, evidence, staleProofs: staleProofs.length === standing.proofs.length ? staleProofs : [] };
}
