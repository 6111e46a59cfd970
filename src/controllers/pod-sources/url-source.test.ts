import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHttp, type FakePage } from "../../../sim/fake-http.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import type { SourceState } from "../../domain/pod/desired-pod.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import { StaticPodNamer } from "./manifests.ts";
import { runUrlSource } from "./url-source.ts";

const pod = (name: string, image = "i:1") => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers: [{ name: "app", image }] },
});

const ADDRESS = "http://pods/x";

/** A body, a status code, no server at all, or a complete page. */
type Answer = string | number | FakePage;

async function start(answers: readonly Answer[], listed = true) {
  const clock = new ManualClock();
  const log = keptLog();
  const stop = new AbortController();
  const state = new LatestCell<SourceState>({ kind: "unseen" });
  const listing = new LatestCell<readonly Sandbox[] | undefined>(listed ? [] : undefined);
  const http = new FakeHttp(clock);
  const left = [...answers];
  let answer: Answer = "";
  http.pages.set(ADDRESS, () => {
    answer = left.shift() ?? answer;
    if (answer === "refused") return { kind: "refused" };
    if (typeof answer === "number") return { kind: "answer", status: answer, body: "" };
    return typeof answer === "string" ? { kind: "answer", status: 200, body: answer } : answer;
  });
  const append = () => Promise.resolve();
  const running = () => ({ sandboxes: listing.value, mirrors: new Map() });
  const namer = new StaticPodNamer({ journal: { append }, clock }, new Map(), running);
  const options = { url: ADDRESS, headers: { "X-Token": ["a", "b"] }, checkEveryMs: 20_000, nodeName: "n1" };
  const ended = runUrlSource(options, { http, clock, log, namer, listedSandboxes: listing, state }, stop.signal);
  await clock.advance(0);
  const names = () => (state.value.kind === "seen" ? state.value.pods.map(({ metadata }) => metadata?.name) : "unseen");
  return { clock, log, stop, state, listing, http, ended, names };
}

test("[4.6] the URL is requested at once and every 20 s, with the configured header", async () => {
  const { clock, http } = await start([JSON.stringify(pod("a"))]);
  await clock.advance(40_000);
  const headers = { "X-Token": ["a", "b"] };
  assert.deepEqual(
    http.requests,
    [0, 20_000, 40_000].map((atMs) => ({ url: ADDRESS, headers, atMs })),
  );
});

test("[4.6] a response may take 10 s and have 10 MiB, not more", async () => {
  const body = JSON.stringify(pod("a"));
  const padded = (bytes: number) => body + " ".repeat(bytes - body.length);
  const slow = (delayMs: number): FakePage => ({ kind: "answer", status: 200, body, delayMs });
  for (const [answer, taken] of [
    [slow(9999), true],
    [slow(10_001), false],
    [padded(10 * 2 ** 20), true],
    [padded(10 * 2 ** 20 + 1), false],
  ] as const) {
    const { clock, names } = await start([answer]);
    await clock.advance(11_000);
    assert.deepEqual(names(), taken ? ["a-n1"] : "unseen");
  }
});

test("[4.6] a Pod or a PodList is accepted, and an identical response changes nothing", async () => {
  const list = JSON.stringify({ apiVersion: "v1", kind: "PodList", items: [pod("b"), pod("c")] });
  const { clock, names, state } = await start([
    JSON.stringify(pod("a")),
    list,
    list,
    "apiVersion: v1\nkind: PodList\nitems: []\n",
  ]);
  assert.deepEqual(names(), ["a-n1"]);
  await clock.advance(20_000);
  assert.deepEqual(names(), ["b-n1", "c-n1"]);
  const version = state.version;
  await clock.advance(20_000);
  assert.equal(state.version, version);
  await clock.advance(20_000);
  assert.deepEqual(names(), []);
});

for (const [name, bad] of [
  ["a refused connection", "refused"],
  ["status 404", 404],
  ["invalid JSON", "{"],
  ["a list with one invalid pod", JSON.stringify({ apiVersion: "v1", kind: "PodList", items: [pod("b"), pod("C")] })],
] as const) {
  test(`[4.6] ${name} leaves a new source unseen and a seen source unchanged`, async () => {
    const first = await start([bad]);
    await first.clock.advance(60_000);
    assert.equal(first.names(), "unseen");
    const later = await start([JSON.stringify(pod("a")), bad, bad]);
    await later.clock.advance(40_000);
    assert.deepEqual(later.names(), ["a-n1"]);
  });
}

test("[4.6] an empty response is a source without pods", async () => {
  const { names } = await start([""]);
  assert.deepEqual(names(), []);
});

test("[4.6] four failures are logged at level 0, further ones at level 4, and the recovery at level 0", async () => {
  const { clock, log } = await start([...Array.from({ length: 6 }, () => "refused"), JSON.stringify(pod("a"))]);
  await clock.advance(120_000);
  const levels = log.lines.map((line) => line.slice(0, 1));
  assert.deepEqual(levels, ["0", "0", "0", "0", "4", "4", "0"]);
  assert.match(log.lines.at(-1) ?? "", /Successfully read pods from URL/);
});

test("the source is unseen until the runtime is listed; then its pods appear without another change", async () => {
  const { clock, names, listing, stop, ended } = await start([JSON.stringify(pod("a"))], false);
  await clock.advance(50_000);
  assert.equal(names(), "unseen");
  listing.set([]);
  await clock.advance(0);
  assert.deepEqual(names(), ["a-n1"]);
  stop.abort(new Error("shutdown"));
  await ended;
  assert.equal(clock.timersPending, 0);
});
