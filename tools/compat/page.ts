/** Writes docs/compatibility.md. The same ledger, tests and reports give the same page on every machine. */
import { assertNever } from "../../src/base/assert.ts";
import { areaOf, type CheckedRow } from "./check.ts";
import { coverage, kindOf, kinds } from "./coverage.ts";
import type { Ledger } from "./ledger.ts";

const INTRODUCTION = `# Compatibility with the Go kubelet v1.36.4

Written by \`npm run compat\` from \`compat/ledger.yaml\` and the recorded test runs; do not edit.

- **done**: tests prove it, on real parts unless the note says why a pure test is enough.
- **partial**: part of it waits for something that is not built yet, or the proving test has changed since it last ran.
- **todo**: not there.
- **wont**: will not be built; the note says why.
- **proofs**: the test files that prove the row, each by all of its tests whose titles name the id in brackets.

P0: the cluster cannot use the node without it. P1: ordinary workloads need it. P2: operators and tools expect it. P3: rare.
Contracts are files and messages that another kubelet on the same node relies on.
`;

export function compatibilityPage(ledger: Ledger, rows: readonly CheckedRow[]): string {
  const byArea = Map.groupBy(rows, ({ row }) => areaOf(row.id));
  const areas = [...byArea].map(([number, ofArea]) =>
    [
      `## ${number}. ${ledger.areas[number] ?? ""}`,
      "",
      ...table(["id", "behaviour", "priority", "state", "note", "proofs"], ofArea.map(cells)),
      "",
    ].join("\n"),
  );
  const totals = coverage(rows).map(({ label, total, counts, donePercent }) => [
    label,
    String(total),
    ...kinds.map((kind) => String(counts[kind])),
    `${donePercent.toFixed(1)} %`,
  ]);
  return [INTRODUCTION, ...table(["priority", "rows", ...kinds, "done of wanted"], totals), "", areas.join("\n")].join(
    "\n",
  );
}

function cells(checked: CheckedRow): readonly string[] {
  const { id, title, priority, standing } = checked.row;
  const proofs = "proofs" in standing ? standing.proofs : [];
  return [id, title, priority, kindOf(checked), note(checked), proofs.join("<br>")];
}

function note({ row: { standing }, staleProofs }: CheckedRow): string {
  const stale = staleProofs.length > 0 ? ["stale: the proving test has changed since it ran"] : [];
  switch (standing.kind) {
    case "done":
      return [
        ...(standing.differs === undefined ? [] : [`differs: ${standing.differs}`]),
        ...(standing.exact === undefined ? [] : [`exact: ${standing.exact}`]),
        ...stale,
      ].join("<br>");
    case "partial":
      return [`waits: ${standing.waits}`, ...stale].join("<br>");
    case "todo":
      return "";
    case "wont":
      return standing.reason;
    default:
      return assertNever(standing);
  }
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(escapeCell).join(" | ")} |`);

/** Paths in titles hold `<root>` and the like, which Markdown would take for tags. */
const escapeCell = (cell: string): string =>
  cell
    .replaceAll("|", "\\|")
    .replaceAll(/<(?!br>)/g, "&lt;")
    .replaceAll("*", "\\*");
