import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { Pod } from "../src/api/gen/core-v1.ts";
import { compose } from "../src/app/compose.ts";
import { LogFormatter } from "../src/domain/logs/log-formatter.ts";
import { rotatedLogs } from "../src/domain/logs/rotated-logs.ts";
import { HostFileError } from "../src/ports/host-files.ts";
import { RuntimeError } from "../src/ports/runtime-error.ts";
import { readLog } from "../src/server/read-log.ts";
import { scripted } from "./fake-runtime/behaviour.ts";
import { kubeletOptions } from "./kubelet.ts";
import type { Fault, PortCall } from "./port-calls.ts";
import { play, type Scenario, type Stage } from "./scenarios/scenario.ts";
import type { AgentFactory } from "./sim-node.ts";

const LIMIT_BYTES = 20_000;
const TICK_MS = 10;

const loud: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "loud", namespace: "default" },
  spec: {
    nodeName: "n1",
    automountServiceAccountToken: false,
    containers: [
      {
        name: "app",
        image: "busybox",
        imagePullPolicy: "IfNotPresent",
        command: [...scripted({ tickEveryMs: TICK_MS })],
      },
    ],
  },
};

const agentWith =
  (filesMax: number): AgentFactory =>
  (ports, node) =>
    compose(
      ports,
      kubeletOptions(node.name, `--container-log-max-size=${LIMIT_BYTES}`, `--container-log-max-files=${filesMax}`),
    );

/** The directory of the only container's log, and its entries. */
function logDirectory({ node, pod }: Stage): { readonly path: string; readonly names: readonly string[] } {
  const uid = pod("loud")?.metadata?.uid ?? "";
  const path = `/var/log/pods/default_loud_${uid}/app`;
  return { path, names: [...(node.files.disk.directory(path)?.entries.keys() ?? [])].sort() };
}

function bytesAt({ node }: Stage, path: string): Uint8Array {
  const entry = node.files.disk.find(path);
  return entry?.kind === "file" ? entry.content : new Uint8Array();
}

/** Everything that was written and still exists, part by part. */
function parts(stage: Stage): readonly Buffer[] {
  const { path, names } = logDirectory(stage);
  const rotated = rotatedLogs("0.log", names).inUse.map(({ name, isCompressed }) => {
    const bytes = bytesAt(stage, `${path}/${name}`);
    return isCompressed ? gunzipSync(bytes) : Buffer.from(bytes);
  });
  return [...rotated, Buffer.from(bytesAt(stage, `${path}/0.log`))];
}

const largestPart = (stage: Stage): number => Math.max(...parts(stage).map(({ length }) => length));

/** The timestamps of all lines. */
const moments = (stage: Stage): readonly number[] =>
  Buffer.concat(parts(stage))
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => Date.parse(line.split(" ")[0] ?? ""));

/** Reports lines that are missing, duplicated or out of order. */
function gaps(stage: Stage): readonly string[] {
  const found = moments(stage);
  const wrong = found.findIndex((at, index) => index > 0 && at - (found[index - 1] ?? 0) !== TICK_MS);
  return wrong < 0
    ? []
    : [`line ${wrong} of ${found.length} is ${(found[wrong] ?? 0) - (found[wrong - 1] ?? 0)} ms after the one before`];
}

function scenario(more: Partial<Scenario> & Pick<Scenario, "wrong">): Scenario {
  return {
    name: "log rotation",
    steps: [[3_000, ({ create }) => void create(loud)]],
    lastsMs: 40_000,
    ...more,
  };
}

const shape = (stage: Stage) =>
  logDirectory(stage)
    .names.map((name) => name.replace(/\d{8}-\d{6}/, "TIME"))
    .join(" ");

test("[19.2] keeps the configured number of files: the log, the part before it, and compressed parts", async () => {
  let found: Stage | undefined;
  const { wrong, violations, hash } = await play(
    scenario({
      wrong: (stage) => {
        found = stage;
        return gaps(stage);
      },
    }),
    { agent: agentWith(4) },
  );
  assert.deepEqual([wrong, violations], [[], []]);
  assert.ok(found !== undefined);
  assert.equal(shape(found), "0.log 0.log.TIME.gz 0.log.TIME.gz 0.log.TIME");
  const largest = largestPart(found);
  assert.ok(largest >= LIMIT_BYTES && largest <= LIMIT_BYTES * 1.3, `${largest} bytes`);
  const again = await play(scenario({ wrong: gaps }), { agent: agentWith(4) });
  assert.equal(again.hash, hash, "the same seed, the same trace");
});

const isRotation = (name: string, path: RegExp) => (call: PortCall) => call.name === name && path.test(call.target);
const STEPS: readonly (readonly [string, (call: PortCall) => boolean])[] = [
  ["the list of its directory", isRotation("list", /loud_.*\/app$/)],
  ["the rename", isRotation("rename", /0\.log$/)],
  ["the reopening", ({ name }) => name === "ReopenContainerLog"],
  ["the compression", ({ name }) => name === "compress"],
  ["the rename of what was compressed", isRotation("rename", /\.tmp$/)],
  ["the removal of what was compressed", isRotation("removeFile", /0\.log\./)],
];

for (const [step, call] of STEPS) {
  for (const effect of ["none", "done"] as const) {
    test(`[19.2] agent killed ${effect === "none" ? "before" : "after"} ${step} loses and repeats no log line in its next life`, async () => {
      let left: Stage | undefined;
      const outcome = await play(
        scenario({
          wrong: (stage) => {
            left = stage;
            return gaps(stage);
          },
        }),
        { agent: agentWith(100), crashAt: { call, effect } },
      );
      assert.equal(outcome.crashed, true, "it was killed");
      assert.deepEqual([outcome.wrong, outcome.violations], [[], []], outcome.lastLines.slice(-20).join("\n"));
      assert.ok(left !== undefined);
      assert.ok(moments(left).length > 3_000, "it wrote all the time");
      assert.doesNotMatch(shape(left), /\.tmp/);
      assert.ok(largestPart(left) < LIMIT_BYTES * 2, "and was rotated again");
    });
  }
}

for (const effect of ["none", "done"] as const) {
  test(`[19.2] a runtime that ${effect === "none" ? "does not reopen a log has it back under its name" : "reopens it without an answer has done it"}`, async () => {
    let failed = 0;
    const fault = ({ name }: PortCall): Fault | undefined => {
      if (name !== "ReopenContainerLog" || failed === 3) return undefined;
      failed += 1;
      return { kind: "fail", effect, error: new RuntimeError("ReopenContainerLog", "unavailable", "no answer") };
    };
    let left: Stage | undefined;
    const wrong = (stage: Stage) => {
      left = stage;
      return gaps(stage);
    };
    const outcome = await play(scenario({ wrong, fault }), { agent: agentWith(100) });
    assert.deepEqual([outcome.wrong, outcome.violations, failed], [[], [], 3]);
    assert.ok(left !== undefined && moments(left).length > 3_000);
    const largest = largestPart(left);
    if (effect === "done") assert.ok(largest < LIMIT_BYTES * 1.3, `${largest}: none was undone`);
    else assert.ok(largest > LIMIT_BYTES * 1.3, `${largest}: it grew until it could be rotated`);
  });
}

test("[19.2] on a full disk, logs are rotated and the oldest removed; what cannot be compressed stays unchanged without temporary files", async () => {
  let left: Stage | undefined;
  const full = (call: PortCall, nowMs: number): Fault | undefined =>
    call.name === "compress" && nowMs > 12_000
      ? { kind: "fail", effect: "none", error: new HostFileError("compress", call.target, "noSpace", "ENOSPC") }
      : undefined;
  const wrong = (stage: Stage) => {
    left = stage;
    return gaps(stage);
  };
  const outcome = await play(scenario({ wrong, fault: full }), { agent: agentWith(4) });
  assert.deepEqual([outcome.wrong, outcome.violations], [[], []]);
  assert.ok(left !== undefined);
  assert.equal(shape(left), "0.log 0.log.TIME 0.log.TIME 0.log.TIME");
});

const ROTATIONS = 100;
/** Enough time for more than ROTATIONS rotations. */
const MANY_ROTATIONS_MS = 560_000;
const FOLLOWED_FROM_MS = 10_000;

interface Follower {
  /** The timestamps of the lines that this follower received. */
  readonly seen: readonly number[];
  readonly ended: Promise<string>;
}

/** Follows from the beginning of the log as it is now. */
function follow({ node, world, pod }: Stage, until: AbortSignal): Follower {
  const found: number[] = [];
  let rest = "";
  const formatter = new LogFormatter({
    timestamps: true,
    since: undefined,
    streams: new Set(["stdout"]),
    bytesMax: Number.POSITIVE_INFINITY,
    linesMax: Number.POSITIVE_INFINITY,
  });
  const write = async (bytes: Uint8Array) => {
    const lines = (rest + Buffer.from(bytes).toString()).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) found.push(Date.parse(line.split(" ")[0] ?? ""));
  };
  const path = `/var/log/pods/default_loud_${pod("loud")?.metadata?.uid}/app/0.log`;
  const container = { isRunning: async () => true, watch: () => () => {} };
  const { logFiles } = node;
  const reading = { path, tailLines: undefined, follow: container, formatter, logFiles, write };
  const ended = readLog({ ...reading, files: node.files.port, clock: world.clock }, until).then(
    (trouble) => `it ended before it was aborted: ${trouble}`,
    () => "aborted",
  );
  return { seen: found, ended };
}

test(`[19.4] [scenario 40] a follower sees every line exactly once over ${ROTATIONS} rotations`, async () => {
  const over = new AbortController();
  let rotations = 0;
  const fault = (call: PortCall): undefined => {
    if (isRotation("rename", /0\.log$/)(call)) rotations += 1;
  };
  let follower: Follower | undefined;
  let writtenUntilMs = 0;
  const outcome = await play(
    scenario({
      steps: [
        [3_000, ({ create }) => void create(loud)],
        [FOLLOWED_FROM_MS, (stage) => void (follower = follow(stage, over.signal))],
      ],
      lastsMs: MANY_ROTATIONS_MS,
      fault,
      wrong: (stage) => {
        writtenUntilMs = moments(stage).at(-1) ?? 0;
        return gaps(stage);
      },
    }),
    { agent: agentWith(4) },
  );
  over.abort();
  assert.equal(await follower?.ended, "aborted");
  const { seen } = follower ?? assert.fail("nobody followed");
  assert.deepEqual([outcome.wrong, outcome.violations], [[], []]);
  assert.ok(rotations >= ROTATIONS, `${rotations} rotations`);
  const wrong = seen.findIndex((at, index) => index > 0 && at - (seen[index - 1] ?? 0) !== TICK_MS);
  assert.equal(wrong, -1, `line ${wrong} of ${seen.length}`);
  assert.ok(writtenUntilMs - (seen.at(-1) ?? 0) < 5_000, "to the last ones");
  assert.ok(seen.length > (MANY_ROTATIONS_MS - FOLLOWED_FROM_MS) / TICK_MS - 1_000, `${seen.length} lines`);
});

test(`[19.2] [scenario 40] agent killed at a step of every third of ${ROTATIONS} rotations leaves a readable log without gaps, and its next start recreates 0.log`, async () => {
  let [rotations, deaths] = [0, 0];
  const steps: readonly ((call: PortCall) => boolean)[] = STEPS.slice(1).map(([, call]) => call);
  let dueAt = 3;
  const fault = (call: PortCall): Fault | undefined => {
    if (isRotation("rename", /0\.log$/)(call)) rotations += 1;
    const effect = deaths % 2 === 0 ? "done" : "none";
    if (rotations < dueAt || steps[Math.floor(deaths / 2) % steps.length]?.(call) !== true) return undefined;
    deaths += 1;
    dueAt = rotations + 3;
    return { kind: "crash", effect };
  };
  let left: Stage | undefined;
  const readable: string[] = [];
  let looksWithout = 0;
  const look = (stage: Stage) => {
    // An agent that has just started may not have reopened the log yet.
    const isSettled = stage.world.clock.monotonicMs() - stage.node.startedMonotonicMs > 5_000 && stage.node.isRunning;
    looksWithout = isSettled && !logDirectory(stage).names.includes("0.log") ? looksWithout + 1 : 0;
    // Within a rotation there is none for some milliseconds, which one look may see.
    if (looksWithout > 1) readable.push(`none at ${stage.world.clock.monotonicMs()}`);
  };
  const looks = Array.from(
    { length: MANY_ROTATIONS_MS / 1_000 - 11 },
    (_, index) => [10_000 + index * 1_000, look] as const,
  );
  const outcome = await play(
    scenario({
      steps: [[3_000, ({ create }) => void create(loud)], ...looks],
      lastsMs: MANY_ROTATIONS_MS,
      fault,
      wrong: (stage) => {
        left = stage;
        return gaps(stage);
      },
    }),
    { agent: agentWith(1_000) },
  );
  assert.deepEqual(
    [outcome.wrong, outcome.violations, readable],
    [[], [], []],
    outcome.lastLines.slice(-20).join("\n"),
  );
  assert.ok(left !== undefined && rotations >= ROTATIONS && deaths >= ROTATIONS / 4, `${rotations}, ${deaths} deaths`);
  assert.ok(moments(left).length > (MANY_ROTATIONS_MS - 5_000) / TICK_MS, "every line since the pod came");
});
