import assert from "node:assert/strict";
import { test } from "node:test";
import { DemandDriver } from "../../../sim/demand-driver.ts";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { FakeMounts } from "../../../sim/fake-mounts.ts";
import { FakeQuotas } from "../../../sim/fake-quotas.ts";
import { SeededRandom } from "../../../sim/seeded-random.ts";
import { VirtualClock } from "../../../sim/virtual-clock.ts";
import { pod } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import type { PersistentVolume, PodSpec, Volume } from "../../api/gen/core-v1.ts";
import { claimNameOf } from "../../domain/cluster-objects/references.ts";
import { kindOf, readyFileDirectory, volumeDirectory } from "../../domain/volumes/layout.ts";
import { localPlugin } from "./plugins/local.ts";
import { VOLUME_PLUGINS } from "./plugins/volume-plugins.ts";
import { StagedVolumes } from "./staged-volumes.ts";
import { VolumeQuotas } from "./volume-quotas.ts";

const ROOT = "/root";
const { signal } = new AbortController();
const DISK: Volume = { name: "data", persistentVolumeClaim: { claimName: "disk" } };
const PERSISTENT: PersistentVolume = { metadata: { name: "pv1" }, spec: { local: { path: "/disk" } } };

function world() {
  const clock = new VirtualClock();
  const files = new FakeFiles({ clock });
  const mounts = new DemandDriver(clock).drive<FakeMounts>(new FakeMounts(files, clock));
  files.makeDirectory("/disk", 0o755);
  const reported: string[] = [];
  const ports = {
    files: files.port,
    mounts,
    clock,
    random: new SeededRandom(1),
    journal: { replay: async () => [], append: async () => {}, note: () => {} },
    events: {
      emit: ({ name }: { readonly name: string }, type: string, reason: string, message: string) =>
        void reported.push(`${name} ${type} ${reason} ${message}`),
    },
  };
  const staged = new StagedVolumes();
  const fakeQuotas = new FakeQuotas(files, new FakeMounts(files, clock));
  const log = keptLog();
  const quotas = new VolumeQuotas(fakeQuotas, log);
  const setUp = async (podName: string, volume: Volume, fsGroup?: number, spec: Partial<PodSpec> = {}) => {
    const isClaim = claimNameOf(podName, volume) !== undefined;
    const plugin = isClaim ? localPlugin : kindOf(volume, VOLUME_PLUGINS);
    assert(plugin !== undefined);
    const grouped = fsGroup === undefined ? {} : { securityContext: { fsGroup } };
    const own = pod({ ...grouped, ...spec }, { name: podName, uid: podName });
    const plan = plugin.plan(
      { pod: own, volume, persistent: isClaim ? PERSISTENT : undefined, readOnly: false },
      { allocatableMemoryBytes: 1n << 30n },
    );
    assert(plan.kind === "planned");
    const name = isClaim ? "pv1" : volume.name;
    const podDirectory = `${ROOT}/pods/${podName}`;
    return plan.setUp({
      pod: own,
      volume,
      name,
      rootDir: ROOT,
      podDirectory,
      path: volumeDirectory(podDirectory, plugin.name, name),
      readyFileDirectory: readyFileDirectory(podDirectory, plugin.name, name),
      ports,
      staged,
      quotas,
      signal,
    });
  };
  const groupOf = async (path: string) => (await files.port.facts(path))?.gid;
  const modeOf = async (path: string) => (await files.port.facts(path))?.mode;
  return { setUp, reported, groupOf, modeOf, files, fakeQuotas, log };
}

test("[13.13] a local volume gets the fsGroup of its first pod, and a pod with another fsGroup gets an event", async () => {
  const { setUp, reported, groupOf } = world();
  await Promise.all([setUp("first", DISK, 3000), setUp("second", DISK, 4000), setUp("third", DISK, 3000)]);
  await setUp("fourth", DISK);
  assert.equal(await groupOf("/disk"), 3000);
  assert.deepEqual(reported, [
    "second Warning AlreadyMountedVolume The requested fsGroup is 4000, but the volume pv1 has GID 3000. The volume may not be shareable.",
  ]);
});

test("[13.4][27.1.9] a pod's directory has mode 0750, also when a volume is set up before its worker", async () => {
  const { setUp, modeOf } = world();
  const { path } = await setUp("first", { name: "data", emptyDir: {} });
  assert.equal(path, `${ROOT}/pods/first/volumes/kubernetes.io~empty-dir/data`);
  const directories = ["", "/volumes", "/volumes/kubernetes.io~empty-dir", "/volumes/kubernetes.io~empty-dir/data"];
  const modes = await Promise.all(directories.map((directory) => modeOf(`${ROOT}/pods/first${directory}`)));
  assert.deepEqual(modes, [0o750, 0o750, 0o755, 0o777]);
});

test("[13.27] each kind of volume specifies how its usage is measured", async () => {
  const { setUp } = world();
  const volumes: readonly Volume[] = [
    { name: "scratch", emptyDir: {} },
    { name: "memory", emptyDir: { medium: "Memory" } },
    { name: "settings", configMap: { name: "s" } },
    { name: "secret", secret: { secretName: "s" } },
    DISK,
    { name: "host", hostPath: { path: "/disk" } },
    { name: "image", image: { reference: "x" } },
  ];
  const measured = await Promise.all(volumes.map(async (volume) => (await setUp("first", volume)).measured));
  assert.deepEqual(measured, [
    { how: "walk", once: false, ephemeral: true },
    { how: "walk", once: false, ephemeral: false },
    { how: "walk", once: true, ephemeral: true },
    { how: "walk", once: true, ephemeral: false },
    { how: "filesystem", once: false, ephemeral: false },
    undefined,
    undefined,
  ]);
});

const SCRATCH: Volume = { name: "scratch", emptyDir: {} };
const OWN_USERS: Partial<PodSpec> = { hostUsers: false };

test("[21.9] an emptyDir on disk of a pod with its own users gets a project quota, and finds it again", async () => {
  const { setUp, fakeQuotas } = world();
  fakeQuotas.counted.add(ROOT);
  const projectIn = async (podName: string, volume: Volume, spec: Partial<PodSpec>) =>
    (await setUp(podName, volume, undefined, spec)).measured?.project;
  const first = await projectIn("first", SCRATCH, OWN_USERS);
  const second = await projectIn("second", SCRATCH, OWN_USERS);
  assert.ok(first !== undefined && second !== undefined && first !== second, `${first} ${second}`);
  assert.equal(await projectIn("first", SCRATCH, OWN_USERS), first);
  const memory: Volume = { name: "memory", emptyDir: { medium: "Memory" } };
  assert.equal(await projectIn("first", memory, OWN_USERS), undefined);
  assert.equal(await projectIn("third", SCRATCH, {}), undefined);
  assert.equal(await projectIn("third", SCRATCH, { hostUsers: true }), undefined);
});

test("[21.9] without project quotas a volume is walked, and each reason is logged once", async () => {
  const { setUp, fakeQuotas, log } = world();
  for (const name of ["first", "second"])
    assert.equal((await setUp(name, SCRATCH, undefined, OWN_USERS)).measured?.project, undefined);
  fakeQuotas.obstacle = "tool";
  for (const name of ["third", "fourth"]) await setUp(name, SCRATCH, undefined, OWN_USERS);
  assert.deepEqual(
    log.lines.map((line) => /^0 Volumes without project quota .*"reason":"(.*)"/.exec(line)?.[1]),
    ["the file system is no XFS or ext4 that counts projects (mount option prjquota)", "xfs_quota is not installed"],
  );
});

test("a volume whose project cannot be assigned is set up and walked", async () => {
  const { setUp, fakeQuotas, log } = world();
  fakeQuotas.assign = () => Promise.reject(new Error("the files are locked"));
  const { measured } = await setUp("first", SCRATCH, undefined, OWN_USERS);
  assert.deepEqual(measured, { how: "walk", once: false, ephemeral: true });
  assert.match(log.lines.join("\n"), /^E Failed to assign a project quota.*: the files are locked/);
});
