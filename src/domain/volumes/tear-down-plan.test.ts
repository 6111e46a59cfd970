import assert from "node:assert/strict";
import { test } from "node:test";
import { formatStep } from "./format-plan.ts";
import type { VolumeKind } from "./layout.ts";
import { parseVolumeDirectories, planTearDown } from "./tear-down-plan.ts";
import { tokenKeptMs } from "./token.ts";
import { readinessOf, type VolumeState, waitingMessage } from "./volume-state.ts";

const V = "/pod/volumes";
const kind = (name: string, mounts: (type: string) => boolean, holdsFiles = true): VolumeKind => ({
  name,
  sources: [],
  ownsMount: mounts,
  holdsFiles,
});
const KINDS = [
  kind("projected", (type) => type === "tmpfs"),
  kind("empty-dir", (type) => type === "tmpfs"),
  kind("local-volume", () => true, false),
  kind("configmap", () => false),
];
const plan = (
  directories: Readonly<Record<string, readonly string[]>>,
  mounts: readonly (readonly [path: string, type: string])[],
  journaledMounts: readonly string[] = [],
) =>
  planTearDown({
    podDirectory: "/pod",
    ...parseVolumeDirectories(
      Object.entries(directories).map(([directory, names]) => ({ directory, names })),
      KINDS,
    ),
    mounts: mounts.map(([path, type]) => ({ path, type })),
    journaledMounts: new Set(journaledMounts),
  });

test("[27.1.16] subPath mounts are unmounted, the deepest first", () => {
  const { subPaths, foreign } = plan({}, [
    ["/pod/volume-subpaths/v/app/0", "ext4"],
    ["/pod/volume-subpaths/v/app/0/inner", "tmpfs"],
  ]);
  assert.deepEqual(subPaths, ["/pod/volume-subpaths/v/app/0/inner", "/pod/volume-subpaths/v/app/0"]);
  assert.deepEqual(foreign, []);
});

test("[13.3] [27.1.9] mounts at the volume paths of known plugins are unmounted", () => {
  const { volumes, foreign } = plan(
    {
      "kubernetes.io~projected": ["token"],
      "kubernetes.io~empty-dir": ["tmp", "shm"],
      "kubernetes.io~local-volume": ["pv1"],
      "kubernetes.io~configmap": ["c"],
    },
    [
      [`${V}/kubernetes.io~projected/token`, "tmpfs"],
      [`${V}/kubernetes.io~empty-dir/shm`, "tmpfs"],
      [`${V}/kubernetes.io~local-volume/pv1`, "xfs"],
    ],
  );
  assert.deepEqual(
    volumes.map(({ name, unmount, empties, readyFileDirectory }) => [name, unmount, empties, readyFileDirectory]),
    [
      ["token", true, true, "/pod/plugins/kubernetes.io~empty-dir/wrapped_token"],
      ["tmp", false, true, "/pod/plugins/kubernetes.io~empty-dir/tmp"],
      ["shm", true, true, "/pod/plugins/kubernetes.io~empty-dir/shm"],
      ["pv1", true, false, "/pod/plugins/kubernetes.io~empty-dir/wrapped_pv1"],
      ["c", false, true, "/pod/plugins/kubernetes.io~empty-dir/wrapped_c"],
    ],
  );
  assert.deepEqual(foreign, []);
});

test("a foreign mount is reported and left alone unless the journal lists it", () => {
  const planted = `${V}/kubernetes.io~empty-dir/tmp/planted`;
  const odd = `${V}/kubernetes.io~configmap/c`;
  const directories = { "kubernetes.io~empty-dir": ["tmp"], "kubernetes.io~configmap": ["c"] };
  assert.deepEqual(
    plan(directories, [
      [planted, "ext4"],
      [odd, "nfs"],
    ]).foreign,
    [planted, odd],
  );
  const known = plan(directories, [[odd, "nfs"]], [odd]);
  assert.deepEqual(known.foreign, []);
  assert.equal(known.volumes.find(({ name }) => name === "c")?.unmount, true);
});

test("directories of unknown plugins are reported as unknownPlugins", () => {
  assert.deepEqual(parseVolumeDirectories([{ directory: "kubernetes.io~nfs", names: ["x"] }], KINDS), {
    volumes: [],
    unknownPlugins: ["kubernetes.io~nfs"],
  });
});

test("[13.33] a device with a filesystem or partitions is never formatted", () => {
  const step = (type: string | undefined, partitioned: boolean, readOnly: boolean) =>
    formatStep("/dev/x", "ext4", { type, partitioned }, { readOnly });
  assert.deepEqual(step(undefined, false, false), { kind: "format", type: "ext4" });
  assert.deepEqual(step(undefined, false, true), {
    kind: "refused",
    message: "cannot mount unformatted disk /dev/x as we are manipulating it in read-only mode",
  });
  assert.deepEqual(step("ext4", false, false), { kind: "mount", check: true, mismatch: false });
  assert.deepEqual(step("xfs", false, true), { kind: "mount", check: false, mismatch: true });
  assert.deepEqual(step(undefined, true, false), { kind: "mount", check: true, mismatch: true });
});

test("[13.11] a token is replaced after 80 % of its lifetime or 24 h, minus a random time", () => {
  const hours = (count: number) => count * 3_600_000;
  assert.equal(tokenKeptMs(3_607_000, 0), 3_607_000 - 721_000);
  assert.equal(tokenKeptMs(3_607_000, 10_000), 3_607_000 - 731_000);
  assert.equal(tokenKeptMs(hours(24 * 365), 0), hours(24));
  assert.equal(tokenKeptMs(600_000, 5_000), 475_000);
});

test("[13.1] a pod that waits for volumes names them with upstream's message", () => {
  const pod = {
    spec: {
      containers: [
        {
          name: "c",
          volumeMounts: [
            { name: "b", mountPath: "/b" },
            { name: "a", mountPath: "/a" },
            { name: "ok", mountPath: "/o" },
          ],
        },
      ],
      volumes: [{ name: "b" }, { name: "a" }, { name: "ok" }],
    },
  };
  const ok = {
    kind: "mounted",
    volume: { name: "ok", path: "/p", readOnly: false, selinuxRelabel: false, measured: undefined },
  } as const;
  const slow = readinessOf(pod, new Map([["ok", ok]]));
  assert(slow.kind === "waiting");
  assert.equal(
    waitingMessage(slow),
    "Unable to attach or mount volumes: unmounted volumes=[a b], unattached volumes=[], failed to process volumes=[]: timed out waiting for the condition",
  );
  const lost = { kind: "unprocessed", message: "error processing PVC ns/b: PVC is not bound" } as const;
  const unbound = readinessOf(
    pod,
    new Map<string, VolumeState>([
      ["ok", ok],
      ["a", ok],
      ["b", lost],
    ]),
  );
  assert(unbound.kind === "waiting");
  assert.equal(
    waitingMessage(unbound),
    "Unable to attach or mount volumes: unmounted volumes=[b], unattached volumes=[], failed to process volumes=[b]: error processing PVC ns/b: PVC is not bound",
  );
  assert.equal(readinessOf({ spec: { containers: [] } }).kind, "ready");
  const mounting = { kind: "mounting" } as const;
  const states = (b: VolumeState) =>
    new Map<string, VolumeState>([
      ["ok", ok],
      ["a", mounting],
      ["b", b],
    ]);
  const kinds = [ok, mounting, { kind: "pending" } as const, lost].map((b) => readinessOf(pod, states(b)).kind);
  assert.deepEqual(kinds, ["mounting", "mounting", "waiting", "waiting"], "one volume that waits makes the pod wait");
});
