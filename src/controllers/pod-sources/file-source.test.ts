import assert from "node:assert/strict";
import { test } from "node:test";
import { ManifestFiles } from "../../../test/support/manifest-files.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import type { JournalRecord } from "../../domain/journal/records.ts";
import type { SourceState } from "../../domain/pod/desired-pod.ts";
import { CONFIG_HASH, CONFIG_SOURCE } from "../../domain/pod/pod-identity.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import { staticPodFacts } from "../../domain/static-pods/static-pod-uid.ts";
import { runFileSource } from "./file-source.ts";
import { StaticPodNamer } from "./manifests.ts";

const DIRECTORY = "/etc/kubernetes/manifests";

const manifest = (name: string, image = "i:1") =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  containers:\n  - {name: app, image: "${image}"}\n`;

interface Given {
  readonly path?: string;
  readonly sandboxes?: readonly Sandbox[] | undefined;
  readonly journal?: JournalRecord[];
  readonly files?: ManifestFiles;
  readonly journalIsFull?: boolean;
}

async function start(given: Given = {}) {
  const clock = new ManualClock();
  const files = given.files ?? new ManifestFiles(clock);
  if (given.files === undefined && given.path === undefined) await files.directory(DIRECTORY);
  const log = keptLog();
  const stop = new AbortController();
  const state = new LatestCell<SourceState>({ kind: "unseen" });
  const listing = new LatestCell<readonly Sandbox[] | undefined>("sandboxes" in given ? given.sandboxes : []);
  const journal = given.journal ?? [];
  const full = { value: given.journalIsFull ?? false };
  const append = (record: JournalRecord) =>
    full.value ? Promise.reject(new Error("no space left")) : Promise.resolve(void journal.push(record));
  const running = () => ({ sandboxes: listing.value, mirrors: new Map() });
  const namer = new StaticPodNamer({ journal: { append }, clock }, staticPodFacts(journal), running);
  const options = { path: given.path ?? DIRECTORY, checkEveryMs: 20_000, nodeName: "n1" };
  const ended = runFileSource(
    options,
    { files: files.port, clock, log, namer, listedSandboxes: listing, state },
    stop.signal,
  );
  await clock.advance(0);
  const pods = () => (state.value.kind === "seen" ? state.value.pods : undefined);
  const names = () => pods()?.map(({ metadata }) => metadata?.name);
  const images = () => pods()?.map(({ spec }) => spec?.containers[0]?.image);
  const incarnations = () => (state.value.kind === "seen" ? [...(state.value.incarnations?.values() ?? [])] : []);
  return { clock, files, log, stop, state, listing, journal, full, ended, pods, names, images, incarnations };
}

test("[4.4] manifests in a directory become pods in the order of file names; hidden files are ignored", async () => {
  const { clock, files, names } = await start();
  await files.file(`${DIRECTORY}/b.yaml`, manifest("b"));
  await files.file(
    `${DIRECTORY}/a.json`,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "a" },
      spec: { containers: [{ name: "x", image: "y" }] },
    }),
  );
  await files.file(`${DIRECTORY}/.hidden.yaml`, manifest("hidden"));
  await clock.advance(0);
  assert.deepEqual(names(), ["a-n1", "b-n1"]);
});

test("[4.4] [27.1.38] a change is read at once with a watch event and after 20 s without one", async () => {
  const { clock, files, images, names } = await start();
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a", "i:1"));
  await clock.advance(0);
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a", "i:2"));
  await clock.advance(0);
  assert.deepEqual(images(), ["i:2"]);
  files.hints = false;
  await files.remove(`${DIRECTORY}/a.yaml`);
  await clock.advance(19_000);
  assert.deepEqual(names(), ["a-n1"]);
  await clock.advance(1000);
  assert.deepEqual(names(), []);
});

test("[4.4] a manifest that is removed and written again is another incarnation of the same pod", async () => {
  const { clock, files, pods, incarnations } = await start();
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  await files.file(`${DIRECTORY}/b.yaml`, manifest("b"));
  await clock.advance(0);
  const [before, uids] = [incarnations(), pods()?.map(({ metadata }) => metadata?.uid)];
  await files.remove(`${DIRECTORY}/a.yaml`);
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  await clock.advance(0);
  const after = incarnations();
  assert.ok((after[0] ?? 0) > Math.max(...before));
  assert.equal(after[1], before[1]);
  assert.deepEqual(
    pods()?.map(({ metadata }) => metadata?.uid),
    uids,
  );
  await files.remove(`${DIRECTORY}/a.yaml`);
  await clock.advance(30_000);
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  await clock.advance(0);
  assert.ok((incarnations()[0] ?? 0) > (after[0] ?? 0));
});

test("[4.4] a manifest that is replaced atomically by the same content, or read again, is no other incarnation", async () => {
  const { clock, files, state, incarnations } = await start();
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  await clock.advance(0);
  const [before, { version }] = [incarnations(), state];
  for (const _ of [1, 2]) await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  await clock.advance(60_000);
  assert.deepEqual([incarnations(), state.version], [before, version]);
});

test("[4.4] a manifest that is removed and partly written again is another incarnation once, with the last valid content", async () => {
  const { clock, files, images, incarnations } = await start();
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  await clock.advance(0);
  const [before] = incarnations();
  const stale = new Set(["a.yaml"]);
  files.recreate(stale);
  await files.file(`${DIRECTORY}/a.yaml`, "apiVersion: v1\nkind: P");
  await clock.advance(0);
  const [during] = incarnations();
  assert.deepEqual(images(), ["i:1"]);
  assert.notEqual(during, before);
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  await clock.advance(0);
  assert.deepEqual(incarnations(), [during]);
});

test("[4.4] a missing path is an empty source, and its manifests are read within a second after it appears", async () => {
  const { clock, files, names, log } = await start({ path: DIRECTORY });
  assert.deepEqual(names(), []);
  await files.directory(DIRECTORY);
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  await clock.advance(1000);
  assert.deepEqual(names(), ["a-n1"]);
  assert.equal(log.lines.filter((line) => line.includes("does not exist")).length, 1);
});

const unusable: readonly (readonly [string, (files: ManifestFiles, path: string) => Promise<void>])[] = [
  ["binary content", (files, path) => files.file(path, Uint8Array.from([0, 255, 1, 254]))],
  ["an empty file", (files, path) => files.file(path, "")],
  ["another kind", (files, path) => files.file(path, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n")],
  ["tabs as indentation", (files, path) => files.file(path, "a:\n\tb\n")],
  ["an invalid pod", (files, path) => files.file(path, manifest("UPPER"))],
  ["a list of pods", (files, path) => files.file(path, "apiVersion: v1\nkind: PodList\nitems: []\n")],
  ["a file over the limit", (files, path) => files.file(path, new Uint8Array(10 * 2 ** 20 + 1))],
  ["a directory", (files, path) => files.directory(path)],
  ["a named pipe", (files, path) => files.pipe(path)],
  ["a link to itself", (files, path) => files.link(path, path)],
  ["a dangling link", (files, path) => files.link(path, "/nowhere")],
  ["an unreadable file", (files, path) => files.file(path, manifest("x")).then(() => void files.broken.add(path))],
];
for (const [name, put] of unusable) {
  test(`[4.4] an unusable file does not block the manifest beside it: ${name}`, async () => {
    const { clock, files, names } = await start();
    await put(files, `${DIRECTORY}/a-garbage`);
    await files.file(`${DIRECTORY}/b.yaml`, manifest("b"));
    await clock.advance(0);
    assert.deepEqual(names(), ["b-n1"]);
  });
}

test("[4.4] links are followed, absolute and relative, for a file and for the directory itself", async () => {
  const files = new ManifestFiles(new ManualClock());
  await files.directory("/real");
  await files.directory("/real/..data");
  await files.file("/real/..data/a.yaml", manifest("a"));
  await files.file("/elsewhere/b.yaml", manifest("b"));
  await files.link("/real/a.yaml", "..data/a.yaml");
  await files.link("/real/b.yaml", "/elsewhere/b.yaml");
  await files.link(DIRECTORY, "/real");
  const { names } = await start({ files });
  assert.deepEqual(names(), ["a-n1", "b-n1"]);
});

test("[4.4] the path may be one file, and its last valid pod stays when the file becomes invalid", async () => {
  const files = new ManifestFiles(new ManualClock());
  await files.directory("/etc");
  await files.file("/etc/pod.yaml", manifest("a"));
  const { clock, names, ended, stop } = await start({ files, path: "/etc/pod.yaml" });
  assert.deepEqual(names(), ["a-n1"]);
  await files.file("/etc/pod.yaml", "garbage: [");
  await clock.advance(100_000);
  assert.deepEqual(names(), ["a-n1"]);
  stop.abort();
  await ended;
});

test("a half-written manifest keeps its pod, and one that stays invalid for a period loses it", async () => {
  const { clock, files, names } = await start();
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  await clock.advance(0);
  await files.file(`${DIRECTORY}/a.yaml`, "apiVersion: v1\nkind: P");
  await clock.advance(19_000);
  assert.deepEqual(names(), ["a-n1"]);
  await clock.advance(21_000);
  assert.deepEqual(names(), []);
});

test("a directory that cannot be read keeps its pods", async () => {
  const { clock, files, names } = await start();
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  await clock.advance(0);
  files.broken.add(DIRECTORY);
  await clock.advance(60_000);
  assert.deepEqual(names(), ["a-n1"]);
});

test("an idle directory writes its cell once, however often it is read", async () => {
  const { clock, files, state } = await start();
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  await clock.advance(0);
  const version = state.version;
  await clock.advance(600_000);
  assert.ok(files.reads >= 30);
  assert.equal(state.version, version);
});

test("[4.5] a changed manifest gets another UID, and its previous content gets the previous UID again", async () => {
  const { clock, files, pods } = await start();
  const uid = () => pods()?.[0]?.metadata?.uid;
  const seen: (string | undefined)[] = [];
  for (const image of ["i:1", "i:2", "i:1"]) {
    await files.file(`${DIRECTORY}/a.yaml`, manifest("a", image));
    await clock.advance(0);
    seen.push(uid());
  }
  assert.equal(seen[0], seen[2]);
  assert.notEqual(seen[0], seen[1]);
  assert.equal(pods()?.[0]?.metadata?.annotations?.[CONFIG_HASH], uid());
});

test("[4.5] [27.2.7] the source is unseen and assigns no UID until the runtime is listed; then a running pod keeps its UID", async () => {
  const files = new ManifestFiles(new ManualClock());
  await files.directory(DIRECTORY);
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  const { clock, state, listing, pods, journal } = await start({ files, sandboxes: undefined });
  assert.deepEqual([state.value.kind, journal], ["unseen", []]);
  listing.set([
    {
      id: "s",
      metadata: { name: "a-n1", namespace: "default", uid: "go-uid", attempt: 0 },
      state: "ready",
      createdWallNs: 1n,
      labels: {},
      annotations: { [CONFIG_SOURCE]: "file", [CONFIG_HASH]: "go-hash" },
      runtimeHandler: "",
    },
  ]);
  await clock.advance(0);
  const { uid, annotations } = pods()?.[0]?.metadata ?? {};
  assert.deepEqual([uid, annotations?.[CONFIG_HASH]], ["go-uid", "go-hash"]);
  assert.deepEqual(
    journal.map((record) => [record.kind, record.uid, record.pod]),
    [["staticPod", "go-uid", "default/a-n1"]],
  );
});

test("[4.5] after a restart the journal restores the adopted UID without a runtime listing", async () => {
  const files = new ManifestFiles(new ManualClock());
  await files.directory(DIRECTORY);
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  const first = await start({ files });
  const [record] = first.journal;
  assert.equal(record?.kind, "staticPod");
  const adopted: JournalRecord[] = record?.kind === "staticPod" ? [{ ...record, uid: "kept", configHash: "kept" }] : [];
  const second = await start({ files, journal: adopted, sandboxes: undefined });
  assert.equal(second.pods()?.[0]?.metadata?.uid, "kept");
  assert.equal(second.journal.length, 1);
});

test("a UID that cannot be journaled is not assigned, and is tried again", async () => {
  const files = new ManifestFiles(new ManualClock());
  await files.directory(DIRECTORY);
  await files.file(`${DIRECTORY}/a.yaml`, manifest("a"));
  const { clock, state, full, names } = await start({ files, journalIsFull: true });
  await clock.advance(20_000);
  assert.equal(state.value.kind, "unseen");
  full.value = false;
  await clock.advance(20_000);
  assert.deepEqual(names(), ["a-n1"]);
});

test("the source ends with its signal and leaves no timer", async () => {
  const { clock, stop, ended } = await start();
  stop.abort(new Error("shutdown"));
  await ended;
  assert.equal(clock.timersPending, 0);
});
