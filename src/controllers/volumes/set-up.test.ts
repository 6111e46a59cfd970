import assert from "node:assert/strict";
import { test } from "node:test";
import { DemandDriver } from "../../../sim/demand-driver.ts";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { FakeMounts } from "../../../sim/fake-mounts.ts";
import { SeededRandom } from "../../../sim/seeded-random.ts";
import { VirtualClock } from "../../../sim/virtual-clock.ts";
import { pod } from "../../../test/support/pods.ts";
import type { VolumeWish } from "../../domain/volumes/volume-wish.ts";
import { DeviceMounts } from "./device-mounts.ts";
import { setUpVolume } from "./set-up.ts";

const ROOT = "/root";
const { signal } = new AbortController();
const LOCAL: Extract<VolumeWish, { kind: "local" }> = {
  kind: "local",
  source: "/disk",
  volumeName: "pv1",
  fsType: "ext4",
  mountOptions: [],
  readOnly: false,
};

function world() {
  const clock = new VirtualClock();
  const files = new FakeFiles({ clock });
  const mounts = new DemandDriver(clock).drive<FakeMounts>(new FakeMounts(files, clock));
  files.makeFolder("/disk", 0o755);
  const told: string[] = [];
  const ports = {
    files: files.port,
    mounts,
    clock,
    random: new SeededRandom(1),
    journal: { replay: async () => [], append: async () => {}, note: () => {} },
    events: {
      emit: ({ name }: { readonly name: string }, type: string, reason: string, message: string) =>
        void told.push(`${name} ${type} ${reason} ${message}`),
    },
  };
  const devices = new DeviceMounts(ROOT);
  const setUp = (name: string, wish: Parameters<typeof setUpVolume>[1], fsGroup?: number) =>
    setUpVolume(
      {
        pod: pod(fsGroup === undefined ? {} : { securityContext: { fsGroup } }, { name, uid: name }),
        podFolder: `${ROOT}/pods/${name}`,
        volume: { name: "data", persistentVolumeClaim: { claimName: "disk" } },
        ports,
        devices,
        signal,
      },
      wish,
    );
  const groupOf = async (path: string) => (await files.port.facts(path))?.gid;
  const modeOf = async (path: string) => (await files.port.facts(path))?.mode;
  return { setUp, told, groupOf, modeOf };
}

test("[13.13] a local volume belongs to the group of the first pod that has it, and the next one hears of it", async () => {
  const { setUp, told, groupOf } = world();
  await Promise.all([setUp("first", LOCAL, 3000), setUp("second", LOCAL, 4000), setUp("third", LOCAL, 3000)]);
  await setUp("fourth", LOCAL);
  assert.equal(await groupOf("/disk"), 3000);
  assert.deepEqual(told, [
    "second Warning AlreadyMountedVolume The requested fsGroup is 4000, but the volume pv1 has GID 3000. The volume may not be shareable.",
  ]);
});

test("[13.4][27.1.9] a pod's folders are closed to others, also when a volume is there before its worker", async () => {
  const { setUp, modeOf } = world();
  const { path } = await setUp("first", { kind: "folder" });
  assert.equal(path, `${ROOT}/pods/first/volumes/kubernetes.io~empty-dir/data`);
  const folders = ["", "/volumes", "/volumes/kubernetes.io~empty-dir", "/volumes/kubernetes.io~empty-dir/data"];
  const modes = await Promise.all(folders.map((folder) => modeOf(`${ROOT}/pods/first${folder}`)));
  assert.deepEqual(modes, [0o750, 0o750, 0o755, 0o777]);
});
