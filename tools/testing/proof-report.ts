/** The report of a proof: the record of its run, with the seed and versions needed to judge and repeat it. */
import { fields, number, optional, parseJson, record, text } from "../shape.ts";
import { parseRun, type RunRecord, replaceFiles } from "./run-record.ts";

export interface ProofReport extends RunRecord {
  readonly seed: number;
  /** Set when files ran at several times: file → time, commit and seed. All other fields describe the last run. */
  readonly parts?: Readonly<Record<string, ProofPart>>;
  /** Versions of Deckhand and of the parts pinned for tests, whether or not this proof runs them. */
  readonly versions: Readonly<Record<string, string>>;
}

interface ProofPart {
  readonly commit: string;
  readonly startedAt: string;
  readonly seed: number;
}

/** Files that ran now replace their results in an earlier report. */
export function joinReports(earlier: ProofReport | undefined, now: ProofReport): ProofReport {
  if (earlier === undefined) return now;
  const joined = replaceFiles(earlier, now);
  return { ...joined, parts: { ...partsOf(earlier), ...partsOf(now) } };
}

const partsOf = (report: ProofReport): Readonly<Record<string, ProofPart>> =>
  report.parts ??
  Object.fromEntries(
    [...new Set(report.tests.map(({ file }) => file))].map((file) => {
      const { commit, startedAt, seed } = report;
      return [file, { commit, startedAt, seed }];
    }),
  );

export function parseReport(source: string, where: string): ProofReport {
  const more = fields(parseJson(source), where);
  const parts = optional(more["parts"], `${where}: parts`, (value, at) => record(value, at, parsePart));
  return {
    ...parseRun(source, where),
    seed: number(more["seed"], `${where}: seed`),
    versions: record(more["versions"], `${where}: versions`, text),
    ...(parts === undefined ? {} : { parts }),
  };
}

function parsePart(value: unknown, where: string): ProofPart {
  const part = fields(value, where);
  return {
    commit: text(part["commit"], `${where}.commit`),
    startedAt: text(part["startedAt"], `${where}.startedAt`),
    seed: number(part["seed"], `${where}.seed`),
  };
}

/** `files` are all files of the proof; the page names those that never ran. */
export function proofPage(name: string, report: ProofReport, files: readonly string[]): string {
  const { commit, startedAt, node, host, seconds, seed, versions, tests, figures } = report;
  const failed = tests.filter((test) => !test.passed).length;
  const missing = files.filter((file) => !tests.some((test) => test.file === file));
  const verdict = [
    failed === 0 ? `all ${tests.length} tests passed` : `**${failed} of ${tests.length} tests failed**`,
    ...(missing.length === 0 ? [] : [`**not run: ${missing.join(", ")}**`]),
  ].join("; ");
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
    ...(report.parts === undefined ? [] : partsSection(report.parts)),
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

const partsSection = (parts: Readonly<Record<string, ProofPart>>): readonly string[] => [
  "## Files",
  "",
  "They ran at several times; what is said above is of the last.",
  "",
  ...table(
    ["file", "commit", "started", "seed"],
    Object.entries(parts).map(([file, part]) => [file, part.commit, part.startedAt, String(part.seed)]),
  ),
  "",
];

const table = (head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] =>
  [head, head.map(() => "---"), ...rows].map(
    (row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`,
  );

/** Returns the versions that a go.mod requires directly; indirect requirements are left out. */
export function directRequirements(goMod: string): Readonly<Record<string, string>> {
  const lines = goMod.split("\n").map((line) => line.trim().replace(/^require\s+(?!\()/, ""));
  const direct = lines.flatMap((line) => {
    const [, module, version] = /^(\S+\.\S+) (v\S+)$/.exec(line) ?? [];
    return module === undefined || version === undefined ? [] : [[module, version] as const];
  });
  return Object.fromEntries(direct);
}
