/**
 * Tests a volume plugin that Deckhand does not have: one object, as a file in `plugins/` would export it, and one more
 * entry in the list.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DemandDriver } from "../../../sim/demand-driver.ts";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { FakeMounts } from "../../../sim/fake-mounts.ts";
import { SeededRandom } from "../../../sim/seeded-random.ts";
import { VirtualClock } from "../../../sim/virtual-clock.ts";
import { container, pod } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import type { Pod } from "../../api/gen/core-v1.ts";
import type { ApiObject } from "../../api/resource.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import { unsupportedFields } from "../../domain/admission/unsupported-fields.ts";
import { specAllocation } from "../../domain/allocation/pod-allocation.ts";
import type { KnownObject } from "../../domain/cluster-objects/references.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { emptyOutcome, type PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import { volumesToMeasure } from "../../domain/stats/volume-stats.ts";
import type { PodVolumes } from "../../domain/volumes/volume-state.ts";
import type { VolumePlugin } from "./plugin.ts";
import { VOLUME_PLUGINS, volumeSources } from "./plugins/volume-plugins.ts";
import { mountOnce } from "./set-up.ts";
import { VolumeLoop } from "./volumes.ts";

const ROOT = "/root";
const UID = "u1";
const DIRECTORY = `${ROOT}/pods/${UID}/volumes/kubernetes.io~nfs/shared`;
const POD: Pod = pod(
  {
    containers: [{ ...container("app"), volumeMounts: [{ name: "shared", mountPath: "/shared" }] }],
    volumes: [{ name: "shared", nfs: { server: "nfs.example", path: "/export" } }],
  },
  { uid: UID },
);

/** Binds the export's directory where a real plugin would mount it over the network. */
function nfsDouble() {
  const unstaged: string[] = [];
  const plugin: VolumePlugin = {
    name: "nfs",
    sources: ["nfs"],
    persistentSources: ["nfs"],
    content: "elsewhere",
    holdsFiles: false,
    ownsMount: (type) => type === "ext4",
    plan: ({ volume }) => ({
      kind: "planned",
      async setUp(work) {
        const { ports, path, signal } = work;
        await ports.files.makeDirectory(path, 0o750);
        await mountOnce(work, () => ports.mounts.bind(volume.nfs?.path ?? "", path, [], signal));
        const measured = { how: "filesystem", once: false, ephemeral: false } as const;
        return { path, readOnly: false, selinuxRelabel: false, measured };
      },
    }),
    unstage: async ({ name, uid }) => void unstaged.push(`${name} of ${uid}`),
  };
  return { plugin, unstaged };
}

function world(plugins: readonly VolumePlugin[]) {
  const clock = new VirtualClock();
  const files = new FakeFiles({ clock });
  files.makeDirectory("/export", 0o755);
  const mounts = new DemandDriver(clock).drive<FakeMounts>(new FakeMounts(files, clock));
  const stop = new AbortController();
  const admittedPods = new LatestTable<string, AdmittedPod>();
  const podOutcomes = new LatestTable<string, PodOutcome>();
  const mountState = new LatestTable<string, PodVolumes>();
  const loop = new VolumeLoop({
    ports: {
      files: files.port,
      mounts,
      clock,
      random: new SeededRandom(1),
      journal: { replay: async () => [], append: async () => {}, note: () => {} },
      events: { emit: () => {} },
      api: undefined,
      log: keptLog(),
    },
    admittedPods,
    podOutcomes,
    podRuntimeStatus: new LatestTable<string, PodRuntimeView>(),
    sourcesReady: new LatestCell(true),
    listedSandboxes: new LatestCell<readonly Sandbox[] | undefined>([]),
    referencedObjects: new LatestTable<string, KnownObject<ApiObject>>(),
    localNode: async () => ({ metadata: { name: "n1" } }),
    mountState,
    volumesKnown: new LatestCell(false),
    volumesInUse: new LatestCell<readonly string[] | undefined>(undefined),
    journaledPods: new Map(),
    plugins,
    quotas: undefined,
    rootDir: ROOT,
    nodeName: "n1",
  });
  const running = loop.run(stop.signal);
  const mounted = async () => (await mounts.table()).map(({ path }) => path).filter((path) => path.includes("~nfs"));
  const end = async () => {
    stop.abort();
    await running;
  };
  return { clock, files, admittedPods, podOutcomes, mountState, mounted, end };
}

test("an additional plugin in the list serves its volumes from admission to unmount", async () => {
  const { plugin, unstaged } = nfsDouble();
  const plugins = [...VOLUME_PLUGINS, plugin];
  assert.equal(unsupportedFields(POD, volumeSources(VOLUME_PLUGINS))?.message, unsupported);
  assert.equal(unsupportedFields(POD, volumeSources(plugins)), undefined);

  const { clock, files, admittedPods, podOutcomes, mountState, mounted, end } = world(plugins);
  podOutcomes.set(UID, emptyOutcome(UID));
  admittedPods.set(UID, {
    uid: UID,
    pod: POD,
    isStatic: false,
    firstSeenWallMs: 0,
    verdict: { kind: "admitted", allocation: specAllocation(POD) },
  });
  await clock.advance(1_000);
  assert.deepEqual(await mounted(), [DIRECTORY]);
  const volumes = mountState.get(UID) ?? new Map();
  assert.deepEqual(volumesToMeasure(POD, volumes), [
    { name: "shared", path: DIRECTORY, claim: undefined, how: "filesystem", once: false, ephemeral: false },
  ]);

  podOutcomes.set(UID, { ...emptyOutcome(UID), lifecycle: { kind: "terminated", why: { kind: "removed" } } });
  await clock.advance(1_000);
  assert.deepEqual(await mounted(), []);
  assert.deepEqual(unstaged, [`shared of ${UID}`]);
  assert.equal(await files.port.facts(DIRECTORY), undefined);
  assert.equal(mountState.get(UID), undefined);
  await end();
});

const unsupported = "this node agent does not support spec.volumes[0].nfs yet";
