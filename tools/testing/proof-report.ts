/** The report of a proof: the record of its run, with what one needs to judge and repeat it. */
import type { RunRecord } from "./run-record.ts";

export interface ProofReport extends RunRecord {
  readonly seed: number;
  /** Deckhand itself, and the parts that are pinned for tests, whether or not this proof runs them. */
  readonly versions: Readonly<Record<string, string>>;
}

export function proofPage(name: string, report: ProofReport): string {
  const { commit, startedAt, node, host, seconds, seed, versions, tests, figures } = report;
  const failed = tests.filter((test) => !test.passed).length;
  const verdict = failed === 0 ? `all ${tests.length} tests passed` : `**${failed} of ${tests.length} tests failed**`;
  return [
    `# Proof: ${name}`,
    "",
    `Written by \`npm run proof -- ${name}\` at the whole size: ${verdict}.`,
    "",
    ...table(
      ["what", "value"],
      [
        ["commit", commit],
        ["started", startedAt],
        ["took", `${seconds.toFixed(1)} s`],
        ["seed", String(seed)],
        ["node", node],
        ["machine", `${host.cores} cores, ${host.memoryGiB} GiB, ${host.platform}, kernel ${host.kernel}`],
        ["load at the start", host.load.toFixed(2)],
        ...Object.entries(versions).map(([of, version]) => [`${of}, as pinned`, version]),
      ],
    ),
    "",
    "## Figures",
    "",
    ...(figures.length === 0
      ? ["None."]
      : table(
          ["figure", "value", "test"],
          figures.map((figure) => [figure.name, `${figure.value} ${figure.unit}`, figure.test]),
        )),
    "",
    "## Tests",
    "",
    ...table(
      ["test", "result", "seconds"],
      tests.map((test) => [test.name, test.passed ? "passed" : "failed", test.seconds.toFixed(2)]),
    ),
    "",
  ].join("\n");
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] =>
  [head, head.map(() => "---"), ...rows].map(
    (row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`,
  );

/** The versions a go.mod asks for by itself: what its tools pull in is left out. */
export function directRequirements(goMod: string): Readonly<Record<string, string>> {
  const lines = goMod.split("\n").map((line) => line.trim().replace(/^require\s+(?!\()/, ""));
  const direct = lines.flatMap((line) => {
    const [, module, version] = /^(\S+\.\S+) (v\S+)$/.exec(line) ?? [];
    return module === undefined || version === undefined ? [] : [[module, version] as const];
  });
  return Object.fromEntries(direct);
}
