import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { inRepository } from "../repository.ts";
import type { RunRecord, TestRecord } from "../testing/run-record.ts";
import { checkLedger } from "./check.ts";
import { coverage } from "./coverage.ts";
import { type Priority, parseIds, parseLedger } from "./ledger.ts";
import { compatibilityPages, statusSentence } from "./page.ts";
import { ranOnRealParts } from "./real-parts.ts";

const ids = new Map<string, Priority>([
  ["7.13", "P0"],
  ["7.14", "P1"],
]);

const CRASH = "[7.13] second crash waits 10 s";
const FILE = "a.test.ts";
const REAL_FILES = [FILE, "b.test.ts", "contract.ts"];

const row = (id: string, prio: string, rest: string) =>
  `  - { id: "${id}", title: "title of ${id}", prio: ${prio}, ${rest} }`;

function ledgerOf(first: string, second = "state: todo") {
  return parseLedger(
    [`areas: { "7": "Containers" }`, "rows:", row("7.13", "P0", first), row("7.14", "P1", second)].join("\n"),
  );
}

function runOf(tests: readonly Partial<TestRecord>[], about: Partial<RunRecord> = {}): RunRecord {
  return {
    suite: "integration",
    commit: "c0",
    dirty: false,
    startedAt: "2026-01-01T00:00:00Z",
    node: "v26",
    host: { cores: 2, memoryGiB: 1, kernel: "k", platform: "linux x64", load: 0 },
    seconds: 1,
    files: { [FILE]: "as it was" },
    startedParts: Object.fromEntries(REAL_FILES.map((file) => [file, ["containerd", "deckhand"]])),
    tests: tests.map((each) => ({ name: CRASH, file: FILE, passed: true, seconds: 0, ...each })),
    figures: [],
    ...about,
  };
}

const unchanged = () => "as it was";
const changed = () => "edited";
const done = (...proofs: readonly string[]) => `state: done, proofs: ${JSON.stringify(proofs)}`;
const check = (ledger: ReturnType<typeof ledgerOf>, runs: readonly RunRecord[], fingerprint = unchanged) =>
  checkLedger(ledger, ids, runs, fingerprint);
const problemsOf = (...args: Parameters<typeof check>) => check(...args).problems;

describe("check of the ledger", () => {
  test("accepts a done row whose proof passed on real parts", () => {
    assert.deepEqual(problemsOf(ledgerOf(done(FILE)), [runOf([{}])]), []);
  });

  test("a test keeps proving its row when its title changes, as long as it names the id", () => {
    const renamed = [{ name: "crashes > [7.14] [7.13] the second one waits" }, { name: "[7.13] another" }];
    assert.deepEqual(problemsOf(ledgerOf(done(FILE)), [runOf(renamed)]), []);
  });

  const missing = [
    `7.13: no recorded run holds a test of ${FILE} that names it`,
    `7.13 is done, but no proof ran Deckhand on real parts and no "exact" says why that is enough`,
  ];
  for (const [what, runs] of [
    ["without a run", []],
    ["whose tests name other ids", [runOf([{ name: "[7.14] other" }, { name: "no id" }])]],
    ["while only another file names the id", [runOf([{ file: "b.test.ts" }])]],
  ] as const) {
    test(`reports a proof ${what}`, () => assert.deepEqual(problemsOf(ledgerOf(done(FILE)), runs), missing));
  }

  for (const state of [done(FILE), `state: partial, waits: "x", proofs: ["${FILE}"]`]) {
    test(`reports a test that did not pass in the last run (${state.slice(7, 14)})`, () => {
      const earlier = runOf([{}], { startedAt: "2025-01-01T00:00:00Z" });
      assert.deepEqual(problemsOf(ledgerOf(state), [runOf([{ passed: false }]), earlier]), [
        `7.13: "${CRASH}" (${FILE}) did not pass in the last recorded run (integration)`,
      ]);
    });
  }

  test("finds the last run by its time, not by its position in the list", () => {
    const failed = runOf([{ passed: false }], { startedAt: "2025-01-01T00:00:00Z" });
    assert.deepEqual(problemsOf(ledgerOf(done(FILE)), [runOf([{}]), failed]), []);
  });

  test("a run without tests of the file and id leaves the decision to an earlier one, such as a committed report", () => {
    const report = runOf([{}], { suite: "proof:x", startedAt: "2025-01-01T00:00:00Z" });
    const later = runOf([
      { name: "[7.14] other", passed: false },
      { file: "b.test.ts", passed: false },
    ]);
    assert.deepEqual(problemsOf(ledgerOf(done(FILE)), [report, later]), []);
  });

  test("requires every test of a file that names the id to pass, and no other test", () => {
    const other = { name: "[7.13] other" };
    assert.deepEqual(problemsOf(ledgerOf(done(FILE)), [runOf([{}, { ...other, passed: false }])]), [
      `7.13: "[7.13] other" (${FILE}) did not pass in the last recorded run (integration)`,
    ]);
    assert.deepEqual(problemsOf(ledgerOf(done(FILE)), [runOf([{}, { name: "[7.14] other", passed: false }])]), []);
  });

  test("a test of a contract suite belongs to the file that runs it and to the file that defines it", () => {
    const files = { [FILE]: "as it was", "contract.ts": "as it was" };
    const runs = [runOf([{ definedIn: "contract.ts" }], { files })];
    assert.deepEqual(problemsOf(ledgerOf(done(FILE)), runs), []);
    assert.deepEqual(problemsOf(ledgerOf(done("contract.ts")), runs), []);
  });

  test("a file may name an id whose row does not list it", () => {
    const files = { [FILE]: "as it was", "b.test.ts": "as it was" };
    assert.deepEqual(problemsOf(ledgerOf(done(FILE)), [runOf([{}, { file: "b.test.ts" }], { files })]), []);
  });

  test("reports a row that only pure tests prove, unless its `exact` says why that is enough", () => {
    for (const suite of ["unit", "integration", "proof:simulated"]) {
      const pure = runOf([{ file: "pure.test.ts" }], { suite, files: { "pure.test.ts": "as it was" } });
      assert.match(problemsOf(ledgerOf(done("pure.test.ts")), [pure]).join(), /no proof ran Deckhand on real parts/);
      assert.deepEqual(problemsOf(ledgerOf(`${done("pure.test.ts")}, exact: "the row is a formula"`), [pure]), []);
    }
  });

  test("finds upstream tests by their titles", () => {
    const ledger = ledgerOf(done("upstream:Probing container"));
    assert.deepEqual(problemsOf(ledger, [runOf([{ name: "upstream:Probing container" }])]), []);
    assert.match(problemsOf(ledger, []).join(), /no recorded run holds its proof "upstream:Probing container"/);
  });

  test("reports an unknown id in a title", () => {
    assert.deepEqual(problemsOf(ledgerOf("state: todo"), [runOf([{ name: "[7.99] nothing" }])]), [
      `a.test.ts: "[7.99] nothing" names 7.99, which is unknown`,
    ]);
  });

  test("does not check the title of a test whose file has changed since the run", () => {
    assert.deepEqual(problemsOf(ledgerOf("state: todo"), [runOf([{ name: "[7.99] nothing" }])], changed), []);
  });

  test("reports a title with more than three ids", () => {
    const four = new Map([...ids, ["7.15", "P1"], ["7.16", "P1"]] as const);
    const ledger = parseLedger(
      [
        `areas: { "7": "Containers" }`,
        "rows:",
        ...[...four].map(([id, prio]) => `  - { id: "${id}", title: t, prio: ${prio}, state: todo }`),
      ].join("\n"),
    );
    const titles = (name: string) => checkLedger(ledger, four, [runOf([{ name }])], unchanged).problems;
    assert.deepEqual(titles("[7.13][7.14][7.15] three"), []);
    assert.deepEqual(titles("[7.13][7.14][7.15][7.16] four"), [
      `a.test.ts: "[7.13][7.14][7.15][7.16] four" names more than 3 ids`,
    ]);
  });

  test("reports ids that are missing, unknown, listed twice or of another priority", () => {
    const rows = [`{ id: "7.13", title: t, prio: P3, state: todo }`, `{ id: "8.1", title: t, prio: P0, state: todo }`];
    const source = [`areas: { "7": "Containers" }`, "rows:", ...[...rows, rows[1]].map((row) => `  - ${row}`)];
    assert.deepEqual(problemsOf(parseLedger(source.join("\n")), []), [
      "7.14 is missing from the ledger",
      "8.1 is in the ledger twice",
      "7.13 is P0, the ledger says P3",
      "8.1 is unknown: compat/ids.yaml does not list it",
      "8.1 is unknown: compat/ids.yaml does not list it",
    ]);
  });
});

const read = (path: string) => readFileSync(inRepository(path), "utf8");
const isFile = (proof: string) => !proof.startsWith("upstream:");
const asTodo = ({ rows }: ReturnType<typeof parseLedger>) =>
  rows.map((row) => ({ row, staleProofs: [], evidence: [] }));

describe("the ledger file", () => {
  for (const [what, state, message] of [
    ["done without a proof", "state: done", /row 7\.13: state done without a proof/],
    ["done with an empty list of proofs", "state: done, proofs: []", /row 7\.13: state done without a proof/],
    ["a title as a proof", done(CRASH), /row 7\.13: proofs\[0\]: a test file or "upstream:<title>" expected/],
    ["a proof that is listed twice", done(FILE, FILE), /row 7\.13: the proof a\.test\.ts is listed twice/],
    ["partial without waits", `state: partial, proofs: ["x.ts"]`, /row 7\.13: partial without "waits"/],
    ["partial without a proof", "state: partial, waits: x", /row 7\.13: state partial without a proof/],
    ["wont without a reason", "state: wont", /row 7\.13: reason: text expected/],
    ["an unknown state", "state: finished", /row 7\.13: state: one of done, partial, todo, wont expected/],
    [
      "a difference without its risk",
      `state: done, proofs: ["${FILE}"], differs: { what: x, observers: y }`,
      /row 7\.13: differs: risk/,
    ],
    [
      "a difference with an unknown key",
      `state: done, proofs: ["${FILE}"], differs: { what: x, observers: y, risk: z, why: w }`,
      /row 7\.13: differs: unknown key "why"/,
    ],
    ["todo that differs", "state: todo, differs: x", /row 7\.13: "differs" does not go with state todo/],
  ] as const) {
    test(`rejects ${what}`, () => assert.throws(() => ledgerOf(state), message));
  }

  test("contains every id once: 318 behaviors by priority and 64 contracts", () => {
    const ledger = parseLedger(read("compat/ledger.yaml"));
    const byPriority = Object.fromEntries(coverage(asTodo(ledger)).map(({ label, total }) => [label, total]));
    assert.deepEqual(byPriority, { P0: 102, P1: 95, P2: 60, P3: 61, contract: 64, all: 382 });
    const frozen = parseIds(read("compat/ids.yaml"));
    const problems = checkLedger(ledger, frozen, [], unchanged).problems;
    assert.deepEqual(
      problems.filter((problem) => !/no recorded run holds|no proof ran Deckhand on real parts/.test(problem)),
      [],
    );
    assert.equal(frozen.size, 382);
  });

  test("lists only test files that exist", () => {
    const { rows } = parseLedger(read("compat/ledger.yaml"));
    const files = rows.flatMap(({ standing }) => ("proofs" in standing ? standing.proofs : [])).filter(isFile);
    assert.ok(files.length > 0);
    assert.deepEqual(
      files.filter((file) => !existsSync(inRepository(file))),
      [],
    );
  });
});

describe("coverage", () => {
  const twoProofs = ledgerOf(done(FILE, "b.test.ts"), `state: wont, reason: "no"`);
  const other = { name: "[7.13] other", file: "b.test.ts" };
  const run = runOf([{}, other], { files: { [FILE]: "as it was", "b.test.ts": "as it was" } });
  const lineOf = (fingerprint: (file: string) => string) =>
    coverage(checkLedger(twoProofs, ids, [run], fingerprint).rows).find(({ label }) => label === "all");

  test("counts a row as done while one proof is fresh", () => {
    const line = lineOf((file) => (file === FILE ? "edited" : "as it was"));
    assert.deepEqual(line, {
      label: "all",
      total: 2,
      counts: { done: 1, partial: 0, todo: 0, wont: 1 },
      donePercent: 100,
    });
  });

  test("counts a row with only stale proofs as partial, without a problem", () => {
    assert.deepEqual(lineOf(changed)?.counts, { done: 0, partial: 1, todo: 0, wont: 1 });
    assert.deepEqual(check(twoProofs, [run], changed).problems, []);
  });

  test("calls a proof stale when the contract suite that defines it has changed", () => {
    const contract = runOf([{ definedIn: "contract.ts" }], {
      files: { [FILE]: "as it was", "contract.ts": "as it was" },
    });
    const { rows } = checkLedger(ledgerOf(done(FILE)), ids, [contract], (file) =>
      file === "contract.ts" ? "edited" : "as it was",
    );
    assert.deepEqual(rows[0]?.staleProofs, [{ proof: FILE, changed: ["contract.ts"] }]);
  });
});

const BY_EVENTS = "{ what: by events, observers: the runtime, risk: none, setting: --poll }";

describe("the pages", () => {
  const ledger = parseLedger(
    `areas: { "7": "Containers", "8": "Resize" }
rows:
  - { id: "7.13", title: "<root>/a|b", prio: P0, state: done, differs: ${BY_EVENTS}, proofs: ["${FILE}"] }
  - { id: "7.14", title: "plain", prio: P1, state: partial, waits: "row 9.1", proofs: ["${FILE}"] }
  - { id: "8.1", title: "resize", prio: P0, state: todo }`,
  );
  const tests = [{}, { name: "[7.14] other" }, { name: "[7.14] one more" }];
  const { rows } = checkLedger(ledger, ids, [runOf(tests, { suite: "proof:installed" })], unchanged);
  const pages = compatibilityPages(ledger, rows);
  const page = (path: string) => pages.get(path) ?? assert.fail([...pages.keys()].join(" "));

  test("the summary has the counts, what each area misses and the intentional differences", () => {
    const summary = page("docs/compatibility.md");
    for (const line of [
      "| P0 | 2 | 1 | 0 | 1 | 0 | 50.0 % |",
      "| [7. Containers](compatibility/7-containers.md) | 1 | 1 | 0 | 0 |  | plain |",
      "| [8. Resize](compatibility/8-resize.md) | 0 | 0 | 1 | 0 | resize |  |",
      "1 rows differ from the Go kubelet on purpose: [the list](deviations.md).",
    ]) {
      assert.ok(summary.includes(`${line}\n`), `${line}\n\n${summary}`);
    }
  });

  test("the page of the deviations says who can observe each, its risk and the setting that restores upstream", () => {
    const line = "| 7.13 &lt;root>/a\\|b | by events | the runtime | none | `--poll` |";
    assert.ok(page("docs/deviations.md").includes(`## 7. Containers\n\n`));
    assert.ok(page("docs/deviations.md").includes(`${line}\n`), page("docs/deviations.md"));
    assert.equal(page("docs/deviations.md").includes("8. Resize"), false);
  });

  test("the page of an area lists every row with its state, note and number of tests", () => {
    const area = page("docs/compatibility/7-containers.md");
    const evidence = "evidence/7-containers.md";
    for (const line of [
      `| 7.13 | &lt;root>/a\\|b | P0 | done | differs: by events | [1](${evidence}#713) |`,
      `| 7.14 | plain | P1 | partial | waits: row 9.1 | [2](${evidence}#714) |`,
    ]) {
      assert.ok(area.includes(`${line}\n`), `${line}\n\n${area}`);
    }
  });

  test("the evidence of an area names the files, the number of tests and the run", () => {
    const evidence = page("docs/compatibility/evidence/7-containers.md");
    const proof = "[proof](../../proofs/installed.md)";
    assert.ok(evidence.includes(`## 7.14\n\nplain:\n\n- [${FILE}](../../../${FILE}): 2 tests, ${proof}\n`), evidence);
    assert.equal(page("docs/compatibility/evidence/8-resize.md").includes("## 8.1"), false);
  });

  test("the sentence of the README counts all rows and names what ordinary workloads miss", () => {
    assert.equal(
      statusSentence(ledger, rows, "en"),
      "Of [3 behaviors and contracts](docs/compatibility.md) of the Go kubelet, **1 are done**, each with passing tests, " +
        "and 1 in part. Not implemented, of those that ordinary workloads need: Resize.",
    );
    const more = rows.map((each) =>
      each.row.id === "7.14" ? { ...each, row: { ...each.row, standing: { kind: "todo" as const } } } : each,
    );
    assert.match(statusSentence(ledger, more, "en"), /need: Containers \(plain\); Resize\.$/);
  });
});

test("a test file ran on real parts when it started Deckhand beside a real part, whatever it imports", () => {
  const started = (...parts: readonly string[]) =>
    ranOnRealParts({ ...runOf([{}]), startedParts: { [FILE]: parts } }, FILE);
  assert.equal(started("deckhand", "containerd"), true);
  assert.equal(started("deckhand", "guest"), true);
  assert.equal(started("deckhand"), false);
  assert.equal(started("kubelet", "containerd", "kube-apiserver"), false, "the Go kubelet is not Deckhand");
  assert.equal(started(), false);
  assert.equal(ranOnRealParts(runOf([{}]), "test/other.test.ts"), false);
  const { startedParts: _, ...earlier } = runOf([{}]);
  assert.equal(ranOnRealParts(earlier, FILE), false, "no list, and not in a guest");
  const installed = "test/installed/service.test.ts";
  assert.equal(ranOnRealParts(earlier, installed), true);
  assert.equal(ranOnRealParts(runOf([{}]), installed), true, "also in a report of which another file ran again");
  const listed = { [installed]: ["guest"] };
  assert.equal(
    ranOnRealParts({ ...earlier, startedParts: listed }, installed),
    false,
    "once it has a list, that decides",
  );
});
