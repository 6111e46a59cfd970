import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import type { Pod } from "../../api/gen/core-v1.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { PodVolumes, VolumeMeasurement, VolumeState } from "../../domain/volumes/volume-state.ts";
import type { VolumeUsage as MeasuredUsage } from "../../ports/mounts.ts";
import { VolumeUsage } from "./volume-usage.ts";

const forever = new AbortController().signal;
const PLACES: Readonly<Record<string, string>> = {
  scratch: "kubernetes.io~empty-dir/scratch",
  mem: "kubernetes.io~empty-dir/mem",
  settings: "kubernetes.io~configmap/settings",
  data: "kubernetes.io~local-volume/disk-1",
  host: "kubernetes.io~host-path/host",
};

/** As the volume plugins specify. */
const MEASURED: Readonly<Record<string, VolumeMeasurement>> = {
  scratch: { how: "walk", once: false, ephemeral: true },
  mem: { how: "walk", once: false, ephemeral: false },
  settings: { how: "walk", once: true, ephemeral: true },
  data: { how: "filesystem", once: false, ephemeral: false },
};

const POD: Pod = {
  metadata: { name: "p", namespace: "default", uid: "u1" },
  spec: {
    containers: [{ name: "c", volumeMounts: Object.keys(PLACES).map((name) => ({ name, mountPath: `/${name}` })) }],
    volumes: [
      { name: "scratch", emptyDir: {} },
      { name: "mem", emptyDir: { medium: "Memory" } },
      { name: "settings", configMap: { name: "s" } },
      { name: "data", persistentVolumeClaim: { claimName: "claim" } },
      { name: "host", hostPath: { path: "/x" } },
    ],
  },
};

const mounted = (name: string): VolumeState => ({
  kind: "mounted",
  volume: {
    name,
    path: `/pods/u1/volumes/${PLACES[name]}`,
    readOnly: false,
    selinuxRelabel: false,
    measured: MEASURED[name],
  },
});

const filesystem = { capacityBytes: 1000, freeBytes: 400, availableBytes: 300, inodes: 10, inodesFree: 4 };

function world(everyMs = 60_000) {
  const clock = new ManualClock();
  const admittedPods = new LatestTable<string, AdmittedPod>();
  const mountState = new LatestTable<string, PodVolumes>();
  admittedPods.set("u1", { pod: POD } as AdmittedPod);
  mountState.set("u1", new Map(Object.keys(PLACES).map((name) => [name, mounted(name)])));
  const looks: string[] = [];
  const hung = new Set<string>();
  const mounts = {
    measure: (path: string, how: "walk" | "filesystem"): Promise<MeasuredUsage> => {
      const name = path.slice(path.lastIndexOf("/") + 1);
      looks.push(`${how} ${name}`);
      if (hung.has(name)) return new Promise(() => {});
      return Promise.resolve({ filesystem, usage: how === "walk" ? { bytes: 50, inodes: 2 } : undefined });
    },
  };
  const quotas = {
    usage: async (_path: string, project: number) => {
      looks.push(`project ${project}`);
      if (hung.has("quota")) throw new Error("the quota is off");
      return { bytes: 70, inodes: 3 };
    },
  };
  const log = keptLog();
  const usage = new VolumeUsage({ clock, log, mounts, quotas, admittedPods, mountState, everyMs }, forever);
  return { clock, admittedPods, mountState, looks, hung, log, usage };
}

void suite("volume usage", () => {
  test("[21.9][13.27] the pod's own directories are walked, a claim's file system is queried, and a hostPath is not measured", async () => {
    const { looks, usage } = world();
    const reported = (await usage.ask(forever)).get("u1") ?? [];
    assert.deepEqual(looks, ["walk scratch", "walk mem", "walk settings", "filesystem disk-1"]);
    assert.deepEqual(
      reported.map(({ stats, ephemeral }) => [
        stats.name,
        stats.usedBytes,
        stats.inodesUsed,
        ephemeral,
        stats.pvcRef?.name,
      ]),
      [
        ["scratch", 50, 2, true, undefined],
        ["mem", 50, 2, false, undefined],
        ["settings", 50, 2, true, undefined],
        ["data", 600, 6, false, "claim"],
      ],
    );
  });

  test("[21.9] a volume with a project quota is not walked, unless its quota cannot be read", async () => {
    const { clock, mountState, looks, hung, log, usage } = world();
    const { volume } = mounted("scratch") as Extract<VolumeState, { kind: "mounted" }>;
    const measured = { how: "walk", once: false, ephemeral: true, project: 1_048_577 } as const;
    mountState.set("u1", new Map([["scratch", { kind: "mounted", volume: { ...volume, measured } }]]));
    const scratch = async () => (await usage.ask(forever)).get("u1")?.map(({ stats }) => stats)[0];
    const counted = await scratch();
    assert.deepEqual(looks, ["project 1048577", "filesystem scratch"]);
    assert.deepEqual([counted?.usedBytes, counted?.inodesUsed, counted?.capacityBytes], [70, 3, 1000]);
    hung.add("quota");
    looks.length = 0;
    await clock.advance(60_000);
    assert.deepEqual([(await scratch())?.usedBytes, looks], [50, ["project 1048577", "walk scratch"]]);
    assert.match(log.lines.join("\n"), /^2 Failed to read a volume's project quota .*the quota is off/);
  });

  test("[21.9] volumes are measured again on a request after the period; those that only the agent writes are measured once", async () => {
    const { clock, looks, usage } = world();
    await usage.ask(forever);
    looks.length = 0;
    await clock.advance(59_999);
    await usage.ask(forever);
    assert.deepEqual(looks, []);
    await clock.advance(1);
    await usage.ask(forever);
    assert.deepEqual(looks, ["walk scratch", "walk mem", "filesystem disk-1"]);
  });

  test("a volume that never responds delays the request by two seconds and is measured once; the others are reported", async () => {
    const { clock, looks, hung, usage } = world();
    hung.add("disk-1");
    const asked = usage.ask(forever);
    await clock.advance(2_000);
    const names = () => (reported: Awaited<typeof asked>) => (reported.get("u1") ?? []).map(({ stats }) => stats.name);
    assert.deepEqual(names()(await asked), ["scratch", "mem", "settings"]);
    const again = usage.ask(forever);
    await clock.advance(2_000);
    assert.deepEqual(names()(await again), ["scratch", "mem", "settings"]);
    assert.equal(looks.filter((look) => look.includes("disk-1")).length, 1);
  });

  test("a deleted pod is forgotten, and a period of 0 measures nothing", async () => {
    const { admittedPods, usage } = world();
    await usage.ask(forever);
    admittedPods.delete("u1");
    assert.equal((await usage.ask(forever)).size, 0);
    const off = world(0);
    assert.deepEqual([(await off.usage.ask(forever)).size, off.looks], [0, []]);
  });
});
