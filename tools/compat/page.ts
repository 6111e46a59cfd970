/**
 * Generates the compatibility pages in three layers: `docs/compatibility.md` with numbers and areas; one page per area
 * with its rows; one page per area with the tests of each row. `docs/deviations.md` lists the intentional differences.
 * The same ledger, tests and reports give the same pages on every machine.
 */
import { assertNever } from "../../src/base/assert.ts";
import { areaOf, type CheckedRow, type Evidence } from "./check.ts";
import { coverage, kindOf, kinds } from "./coverage.ts";
import type { Ledger, Row } from "./ledger.ts";
import { isUpstream } from "./proofs.ts";

const SUMMARY_PAGE = "docs/compatibility.md";
const DEVIATIONS_PAGE = "docs/deviations.md";
export const AREA_DIRECTORY = "docs/compatibility";
const EVIDENCE_DIRECTORY = `${AREA_DIRECTORY}/evidence`;

const WRITTEN_BY = "Written by `npm run compat` from `compat/ledger.yaml` and the recorded test runs; do not edit.";

const INTRODUCTION = `# Compatibility with the Go kubelet v1.36.4

${WRITTEN_BY}

The ledger lists each behavior of the Go kubelet, and each file and message that another kubelet on the same node relies
on (contracts).

- **done**: tests prove it, on real parts unless the note says why a pure test is enough.
- **partial**: part of it waits for something that is not built yet, or its tests have changed since they last ran.
- **todo**: not there.
- **wont**: will not be built; the note says why.

P0: the cluster cannot use the node without it. P1: ordinary workloads need it. P2: operators and tools expect it. P3: rare.
`;

interface Area {
  readonly number: string;
  readonly name: string;
  readonly slug: string;
  readonly rows: readonly CheckedRow[];
}

/** Maps the path of each page to its content. */
export function compatibilityPages(ledger: Ledger, rows: readonly CheckedRow[]): ReadonlyMap<string, string> {
  const areas = [...Map.groupBy(rows, ({ row }) => areaOf(row.id))].map(([number, ofArea]): Area => {
    const name = ledger.areas[number] ?? "";
    return { number, name, slug: slugOf(`${number} ${name}`), rows: ofArea };
  });
  return new Map([
    [SUMMARY_PAGE, summaryPage(rows, areas)],
    [DEVIATIONS_PAGE, deviationsPage(areas)],
    ...areas.map((area): [string, string] => [`${AREA_DIRECTORY}/${area.slug}.md`, areaPage(area)]),
    ...areas.map((area): [string, string] => [`${EVIDENCE_DIRECTORY}/${area.slug}.md`, evidencePage(area)]),
  ]);
}

export type Language = "en" | "zh";

/** For the READMEs: how much is done, and what is missing of the rows that ordinary workloads need. */
export function statusSentence(ledger: Ledger, rows: readonly CheckedRow[], language: Language): string {
  const all = coverage(rows).find(({ label }) => label === "all");
  const wanted = rows.filter(({ row }) => row.priority === "P0" || row.priority === "P1");
  const missing = [...Map.groupBy(wanted, ({ row }) => areaOf(row.id))].flatMap(([number, ofArea]) => {
    const titles = ofArea.filter((row) => kindOf(row) === "todo").map(({ row }) => row.title);
    const area = ledger.areas[number] ?? "";
    if (titles.length === ofArea.length) return [area];
    return titles.length === 0 ? [] : [`${area} (${titles.join(", ")})`];
  });
  const { total = 0, counts } = all ?? {};
  return language === "en"
    ? `Of [${total} behaviors and contracts](docs/compatibility.md) of the Go kubelet, **${counts?.done} are done**, each with passing ` +
        `tests, and ${counts?.partial} in part. Not implemented, of those that ordinary workloads need: ${missing.join("; ")}.`
    : `Go kubelet 的 [${total} 项行为与约定](docs/compatibility.md)中，**已完成 ${counts?.done} 项**（均有通过的测试），部分完成 ` +
        `${counts?.partial} 项。普通工作负载所需而尚未实现的有：${missing.join("；")}。`;
}

function summaryPage(rows: readonly CheckedRow[], areas: readonly Area[]): string {
  const totals = coverage(rows).map(({ label, total, counts, donePercent }) => [
    label,
    String(total),
    ...kinds.map((kind) => String(counts[kind])),
    `${donePercent.toFixed(1)} %`,
  ]);
  const byArea = areas.map(({ number, name, slug, rows: ofArea }) => [
    `[${number}. ${name}](compatibility/${slug}.md)`,
    ...kinds.map((kind) => String(ofArea.filter((row) => kindOf(row) === kind).length)),
    titlesOf(ofArea, "todo"),
    titlesOf(ofArea, "partial"),
  ]);
  const deviations = deviationsOf(rows).length;
  return [
    INTRODUCTION,
    ...table(["priority", "rows", ...kinds, "done of wanted"], totals),
    "",
    "## Areas",
    "",
    ...table(["area", ...kinds, "missing", "in part"], byArea),
    "",
    `${deviations} rows differ from the Go kubelet on purpose: [the list](deviations.md).`,
    "",
  ].join("\n");
}

const deviationsOf = (rows: readonly CheckedRow[]) =>
  rows.flatMap(({ row }) =>
    row.standing.kind === "done" && row.standing.differs !== undefined ? [{ row, ...row.standing.differs }] : [],
  );

const DEVIATIONS_INTRODUCTION = `# Deviations from the Go kubelet v1.36.4

${WRITTEN_BY}

What Deckhand does differently on purpose, who can observe it, what can go wrong because of it, and the setting that
restores the Go kubelet's behavior where there is one. Every other row that the [compatibility list](compatibility.md)
calls done behaves as in the Go kubelet.

\`--deckhand-compatibility=strict\` is the default: in the rows that name it as their setting, what a row says of the
enhanced mode applies with \`--deckhand-compatibility=enhanced\` only. [The configuration](configuration.md) describes the
three kinds of difference that this flag decides. It decides nothing else.
`;

function deviationsPage(areas: readonly Area[]): string {
  const sections = areas.flatMap(({ number, name, rows }) => {
    const deviations = deviationsOf(rows);
    if (deviations.length === 0) return [];
    const lines = deviations.map(({ row, what, observers, risk, setting }) => [
      `${row.id} ${row.title}`,
      what,
      observers,
      risk,
      setting === undefined ? "" : `\`${setting}\``,
    ]);
    const head = ["row", "difference", "who can observe it", "risk", "setting"];
    return [`## ${number}. ${name}`, "", ...table(head, lines), ""];
  });
  return [DEVIATIONS_INTRODUCTION, ...sections].join("\n");
}

const titlesOf = (rows: readonly CheckedRow[], kind: "todo" | "partial"): string =>
  rows.flatMap((each) => (kindOf(each) === kind ? [each.row.title] : [])).join(", ");

function areaPage({ number, name, slug, rows }: Area): string {
  const lines = rows.map((checked) => {
    const { id, title, priority } = checked.row;
    return [id, title, priority, kindOf(checked), note(checked), testsOf(checked, slug)];
  });
  return [
    `# ${number}. ${name}`,
    "",
    `${WRITTEN_BY} [All areas](../compatibility.md)`,
    "",
    ...table(["id", "behavior", "priority", "state", "note", "tests"], lines),
    "",
  ].join("\n");
}

function testsOf({ row, evidence }: CheckedRow, slug: string): string {
  const count = evidence.reduce((sum, { tests }) => sum + tests, 0);
  return count === 0 ? "" : `[${count}](evidence/${slug}.md#${anchorOf(row)})`;
}

/** As GitHub makes it of the heading. */
const anchorOf = ({ id }: Row): string => id.replaceAll(".", "");

function evidencePage({ number, name, slug, rows }: Area): string {
  const proven = rows.filter(({ evidence }) => evidence.length > 0);
  return [
    `# Tests of ${number}. ${name}`,
    "",
    `${WRITTEN_BY} [The area](../${slug}.md)`,
    "",
    "A test counts when its title names the row's id in brackets, and it passed in the run that is named.",
    "",
    ...proven.flatMap(({ row, evidence }) => [
      `## ${row.id}`,
      "",
      `${escaped(row.title)}:`,
      "",
      ...evidence.map((each) => `- ${evidenceLine(each)}`),
      "",
    ]),
  ].join("\n");
}

function evidenceLine({ proof, tests, suite }: Evidence): string {
  if (isUpstream(proof)) return `upstream's ${escaped(proof.slice("upstream:".length))}`;
  const where = suite.startsWith("proof:") ? `[proof](../../proofs/${suite.slice("proof:".length)}.md)` : "gate";
  return `[${proof}](../../../${proof}): ${tests} ${tests === 1 ? "test" : "tests"}, ${where}`;
}

function note({ row: { standing }, staleProofs }: CheckedRow): string {
  const stale = staleProofs.length > 0 ? ["stale: the proving test has changed since it ran"] : [];
  switch (standing.kind) {
    case "done":
      return [
        ...(standing.differs === undefined ? [] : [`differs: ${standing.differs.what}`]),
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

const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");

const table = (head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(escaped).join(" | ")} |`);

/** Paths in titles contain `<root>` and the like, which Markdown would parse as tags. */
const escaped = (cell: string): string =>
  cell
    .replaceAll("|", "\\|")
    .replaceAll(/<(?!br>)/g, "&lt;")
    .replaceAll("*", "\\*");
