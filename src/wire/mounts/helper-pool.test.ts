import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { MountError } from "../../ports/mounts.ts";
import { HelperPool, type Job, POOL_LIMITS } from "./helper-pool.ts";
import type { Helper } from "./helper-process.ts";
import { pathGroup } from "./path-group.ts";
import type { FinalReply, HelperRequest } from "./protocol.ts";

/** Answers on demand and dies when it is killed, unless it is held. */
class FakeHelper implements Helper {
  readonly ended: Promise<void>;
  request: HelperRequest | undefined;
  state: "alive" | "ended" | "killed" = "alive";
  held = false;
  progress: (files: number) => void = () => {};
  #answer: (reply: FinalReply) => void = () => {};
  #fail: (error: Error) => void = () => {};
  #gone: () => void = () => {};

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#gone = resolve;
    });
  }

  run(request: HelperRequest, onProgress: (files: number) => void): Promise<FinalReply> {
    this.request = request;
    this.progress = onProgress;
    return new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.#fail = reject;
    });
  }

  answer(value: unknown = "ok"): void {
    this.request = undefined;
    this.#answer({ kind: "done", value });
  }

  end(): void {
    this.state = "ended";
    this.#gone();
  }

  kill(): void {
    this.state = "killed";
    if (!this.held) this.die();
  }

  die(): void {
    this.#fail(new Error("the volume helper ended with SIGKILL"));
    this.#gone();
  }
}

class Bench {
  readonly clock = new ManualClock();
  readonly helpers: FakeHelper[] = [];
  holdAll = false;
  readonly pool: HelperPool;

  constructor(limits = POOL_LIMITS) {
    const start = () => {
      const helper = new FakeHelper();
      helper.held = this.holdAll;
      this.helpers.push(helper);
      return helper;
    };
    this.pool = new HelperPool(this.clock, start, limits);
  }

  ask(path: string, job: Partial<Job> = {}): Promise<string> {
    const request = { kind: "kindOf", path } as const;
    const rest = { operation: "look at", path, group: path, limitMs: 10_000, onProgress: () => {} };
    return this.pool.run({ request, signal: new AbortController().signal, ...rest, ...job }).then(
      (reply) => (reply.kind === "done" ? String(reply.value) : reply.kind),
      (error: unknown) => (error instanceof MountError ? error.code : String(error)),
    );
  }

  /** The paths in progress, by helper. */
  get busy(): readonly string[] {
    return this.helpers.flatMap(({ request, state }) =>
      request?.kind === "kindOf" && state === "alive" ? [request.path] : [],
    );
  }

  at(path: string): FakeHelper {
    const found = this.helpers.find(
      ({ request, state }) => request?.kind === "kindOf" && request.path === path && state === "alive",
    );
    assert.ok(found, `nobody works at ${path}`);
    return found;
  }
}

void test("the pool runs at most four helpers, reuses them, and ends them after ten idle seconds", async () => {
  const bench = new Bench();
  const answers = ["/a", "/b", "/c", "/d", "/e", "/f"].map((path) => bench.ask(path));
  assert.deepEqual(bench.busy, ["/a"]);
  await bench.clock.advance(0);
  assert.deepEqual(bench.busy, ["/a", "/b", "/c", "/d"]);
  bench.at("/b").answer();
  await bench.clock.advance(0);
  assert.deepEqual([bench.busy, bench.helpers.length], [["/a", "/e", "/c", "/d"], 4]);
  for (const path of ["/a", "/e", "/c", "/d"]) bench.at(path).answer();
  await bench.clock.advance(0);
  bench.at("/f").answer();
  assert.deepEqual(await Promise.all(answers), ["ok", "ok", "ok", "ok", "ok", "ok"]);
  await bench.clock.advance(9_999);
  assert.equal(bench.helpers.filter(({ state }) => state === "alive").length, 4);
  await bench.clock.advance(1);
  assert.deepEqual(new Set(bench.helpers.map(({ state }) => state)), new Set(["ended"]));
  assert.equal(bench.clock.timersPending, 0);
});

void test("an idle helper that dies is not used again", async () => {
  const bench = new Bench();
  const first = bench.ask("/a");
  bench.at("/a").answer();
  await first;
  bench.helpers[0]?.die();
  await bench.clock.advance(0);
  const second = bench.ask("/b");
  bench.at("/b").answer();
  assert.equal(await second, "ok");
});

void test("requests of one group run one at a time, and other groups are not blocked", async () => {
  const bench = new Bench();
  const answers = [bench.ask("/v"), bench.ask("/v"), bench.ask("/w")];
  await bench.clock.advance(0);
  assert.deepEqual(bench.busy, ["/v", "/w"]);
  bench.at("/v").answer("first");
  await bench.clock.advance(0);
  assert.deepEqual([...bench.busy].sort(), ["/v", "/w"]);
  bench.at("/v").answer("second");
  bench.at("/w").answer("other");
  assert.deepEqual(await Promise.all(answers), ["first", "second", "other"]);
});

void test("eight hanging requests delay another by at most 500 ms, and not at all when they are retried", async () => {
  const bench = new Bench();
  const dead = Array.from({ length: 8 }, (_, index) => `/dead-${index}`);
  const first = dead.map((path) => bench.ask(path));
  void bench.ask("/live");
  await bench.clock.advance(500);
  assert.ok(bench.busy.includes("/live"));
  bench.at("/live").answer();
  await bench.clock.advance(10_000);
  assert.deepEqual(new Set(await Promise.all(first)), new Set(["unresponsive"]));

  const second = dead.map((path) => bench.ask(path));
  void bench.ask("/live");
  await bench.clock.advance(0);
  assert.equal(bench.busy.length, 9);
  await bench.clock.advance(10_000);
  assert.deepEqual(new Set(await Promise.all(second)), new Set(["unresponsive"]));
  assert.deepEqual(bench.busy, []);
});

void test("the number of helpers is bounded by quickMax + slowMax", async () => {
  const bench = new Bench();
  for (let index = 0; index < 30; index += 1) void bench.ask(`/${index}`);
  await bench.clock.advance(5_000);
  assert.equal(bench.busy.length, POOL_LIMITS.quickMax + POOL_LIMITS.slowMax);
});

void test("a request times out only after 10 s without progress", async () => {
  const bench = new Bench();
  const reported: number[] = [];
  const answer = bench.ask("/v", { onProgress: (files) => reported.push(files) });
  for (let turn = 1; turn <= 5; turn += 1) {
    await bench.clock.advance(9_000);
    bench.at("/v").progress(turn * 100);
  }
  const helper = bench.at("/v");
  await bench.clock.advance(10_000);
  assert.deepEqual([await answer, reported, helper.state], ["unresponsive", [100, 200, 300, 400, 500], "killed"]);
});

void test("while a killed helper does not exit, its group is rejected at once and other groups work", async () => {
  const bench = new Bench();
  bench.holdAll = true;
  const first = bench.ask("/v");
  const stuck = bench.at("/v");
  const behind = bench.ask("/v");
  await bench.clock.advance(10_000);
  assert.equal(await first, "unresponsive");
  assert.deepEqual(bench.busy, []);
  await bench.clock.advance(1_000);
  assert.deepEqual([await behind, await bench.ask("/v"), bench.helpers.length], ["unresponsive", "unresponsive", 1]);
  const other = bench.ask("/w");
  bench.at("/w").answer();
  assert.equal(await other, "ok");
  stuck.die();
  await bench.clock.advance(0);
  const again = bench.ask("/v");
  bench.at("/v").answer();
  assert.equal(await again, "ok");
});

void test("resetGroup() lets a group run again although its old helper still hangs", async () => {
  const bench = new Bench();
  bench.holdAll = true;
  const first = bench.ask("/v");
  await bench.clock.advance(11_000);
  assert.deepEqual([await first, await bench.ask("/v")], ["unresponsive", "unresponsive"]);
  bench.pool.resetGroup("/v");
  const again = bench.ask("/v");
  await bench.clock.advance(0);
  bench.at("/v").answer();
  assert.equal(await again, "ok");
});

void test("with stuckMax hanging helpers only harmless requests are accepted", async () => {
  const bench = new Bench({ ...POOL_LIMITS, stuckMax: 3 });
  bench.holdAll = true;
  for (const path of ["/a", "/b", "/c"]) void bench.ask(path);
  await bench.clock.advance(11_000);
  assert.equal(await bench.ask("/d"), "unresponsive");
  const wayOut = bench.ask("/e", { isHarmless: true });
  bench.at("/e").answer();
  assert.equal(await wayOut, "ok");
  bench.helpers[0]?.die();
  await bench.clock.advance(0);
  const after = bench.ask("/d");
  bench.at("/d").answer();
  assert.equal(await after, "ok");
});

void test("an aborted request rejects with its caller's reason, kills its helper and leaves the queue", async () => {
  const bench = new Bench();
  const [running, waiting] = [new AbortController(), new AbortController()];
  const answers = [
    bench.ask("/v", { signal: running.signal }),
    bench.ask("/v", { signal: waiting.signal }),
    bench.ask("/w", { signal: AbortSignal.abort("before") }),
  ];
  waiting.abort("no longer");
  running.abort("enough");
  assert.deepEqual(await Promise.all(answers), ["enough", "no longer", "before"]);
  assert.deepEqual(
    bench.helpers.map(({ state }) => state),
    ["killed"],
  );
  await bench.clock.advance(0);
  const next = bench.ask("/v");
  bench.at("/v").answer();
  assert.equal(await next, "ok");
});

void test("a helper that dies during a request or cannot start fails only that request", async () => {
  const bench = new Bench();
  const answers = [bench.ask("/v"), bench.ask("/v")];
  bench.at("/v").die();
  await bench.clock.advance(0);
  bench.helpers[1]?.answer();
  assert.deepEqual(await Promise.all(answers), ["other", "ok"]);
  const none = new HelperPool(bench.clock, () => {
    throw new Error("no more processes");
  });
  const request = { kind: "kindOf", path: "/v" } as const;
  const job = { request, operation: "look at", path: "/v", group: "/v", limitMs: 1, onProgress: () => {} };
  await assert.rejects(none.run({ ...job, signal: new AbortController().signal }), /look at \/v: no more processes/);
});

void test("close() ends all helpers and rejects pending and later requests", async () => {
  const bench = new Bench();
  const idle = bench.ask("/idle");
  bench.at("/idle").answer();
  await idle;
  const answers = ["/a", "/a", "/b"].map((path) => bench.ask(path));
  await bench.pool.close();
  assert.deepEqual(await Promise.all([...answers, bench.ask("/c")]), ["other", "other", "other", "other"]);
  assert.ok(bench.helpers.every(({ state }) => state !== "alive"));
  assert.equal(bench.clock.timersPending, 0);
});

void test("pathGroup maps a volume and the paths below it to one group", () => {
  const volume = "/var/lib/kubelet/pods/uid/volumes/kubernetes.io~nfs/data";
  assert.deepEqual(
    [volume, `${volume}/a/b`, "/var/lib/kubelet/pods/uid", "/mnt/share/a", "/srv/pods/a/b/c/d/e"].map(pathGroup),
    [volume, volume, "/var/lib/kubelet/pods/uid", "/mnt/share/a", "/srv/pods/a/b/c/d"],
  );
});
