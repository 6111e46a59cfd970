import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { FakeCpuAllocator } from "../../../test/support/fake-cpu-allocator.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { container, pod } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import type { Pod } from "../../api/gen/core-v1.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import { specAllocation } from "../../domain/allocation/pod-allocation.ts";
import { containerConfig } from "../../domain/container-config/container-config.ts";
import { NODE_USERS } from "../../domain/container-config/user-namespace.ts";
import { RUNTIME_UNKNOWN } from "../../domain/node/runtime-health.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { podResourcePlan } from "../../domain/resources/pod-resource-plan.ts";
import { AllocationStage } from "../sync-loop/allocation.ts";
import { CONTAINER_CONTRIBUTORS } from "./container-contributors.ts";
import { type ContainerContributor, type ContainerCreation, gatherInputs, type PodWork } from "./container-creation.ts";
import { newPodState } from "./pod-state.ts";

const { signal } = new AbortController();

const PLAN = podResourcePlan({
  cgroupVersion: 2,
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodUs: 100_000,
  podPidsLimit: -1n,
  memoryCapacityBytes: 4n * 2n ** 30n,
  hugepageSizes: [],
  singleProcessOomKill: false,
  swap: { kind: "none" },
});

function world() {
  const disk = new FakeFiles({ clock: new ManualClock() });
  disk.makeDirectory("/root/pods/1", 0o750);
  const own = container("app", {
    env: [{ name: "COLOR", value: "green" }],
    args: ["$(COLOR)"],
    terminationMessagePath: "/dev/termination-log",
  });
  const object: Pod = { ...pod(), metadata: { name: "p", namespace: "ns", uid: "1" } };
  const creation = {
    pod: object,
    allocation: specAllocation(object),
    containerSpec: { role: "regular", container: own },
    restartCount: 0,
    sandbox: { runtimeHandler: "" },
    image: { kind: "present", ref: "sha256:1", image: { uid: 7n } },
    volumeImages: new Map(),
    network: { podIps: ["198.18.0.5"], hostIps: [], allocatable: {} },
  } as unknown as ContainerCreation;
  const work = {
    state: newPodState("1", 0),
    ports: {
      files: disk.port,
      random: { uuid: () => "12345678-0000-4000-8000-000000000000" },
    },
    cells: {
      services: new LatestCell(new Map()),
      referencedObjects: new LatestTable(),
      mountState: new LatestTable(),
      runtimeHealth: new LatestCell(RUNTIME_UNKNOWN),
    },
    settings: {
      rootDir: "/root",
      podLogsDir: "/logs",
      hostname: { clusterDomain: "cluster.local" },
      resources: PLAN,
    },
  } as unknown as PodWork;
  return { disk, creation, work };
}

test("[24.4] the hosts file is mounted at /etc/hosts, before the termination message file", async () => {
  const { disk, creation, work } = world();
  const { mounts } = await gatherInputs(CONTAINER_CONTRIBUTORS, creation, work, signal);
  const message = "/root/pods/1/containers/app/12345678";
  assert.deepEqual(mounts, [
    { hostPath: "/root/pods/1/etc-hosts", containerPath: "/etc/hosts", selinuxRelabel: true },
    { hostPath: message, containerPath: "/dev/termination-log", selinuxRelabel: true },
  ]);
  assert.equal((await disk.port.facts(message))?.mode, 0o666);
});

test("a contributor sees the inputs gathered before it and adds to them", async () => {
  const { creation, work } = world();
  const bare = world();
  const device: ContainerContributor = async (_creation, gathered) => ({
    environment: [{ name: "DEVICE", value: Buffer.from(`after ${gathered.environment[0]?.name}`) }],
    mounts: [{ hostPath: "/dev/device0", containerPath: "/dev/device0", selinuxRelabel: false }],
    resources: { cpusetCpus: "1" },
  });
  const without = await gatherInputs(CONTAINER_CONTRIBUTORS, bare.creation, bare.work, signal);
  const inputs = await gatherInputs([...CONTAINER_CONTRIBUTORS, device], creation, work, signal);
  assert.deepEqual(without.argv, { command: [], args: ["green"] });
  assert.deepEqual(without.imageUser, { uid: 7n });
  assert.deepEqual(inputs.environment.map(({ name, value }) => `${name}=${Buffer.from(value).toString()}`).slice(-2), [
    "COLOR=green",
    "DEVICE=after COLOR",
  ]);
  assert.deepEqual(inputs.mounts.slice(0, -1), without.mounts);
  assert.equal(inputs.mounts.at(-1)?.containerPath, "/dev/device0");
  assert.deepEqual(inputs.resources, { ...without.resources, cpusetCpus: "1" });
});

test("a contributor that fails prevents the later ones from preparing anything", async () => {
  const { disk, creation, work } = world();
  const refusing: ContainerContributor = () => Promise.reject(new Error("no device"));
  await assert.rejects(gatherInputs([refusing, ...CONTAINER_CONTRIBUTORS], creation, work, signal), /no device/);
  assert.equal(await disk.port.facts("/root/pods/1/etc-hosts"), undefined);
});

test("CPUs that an allocator assigns are in the request that creates the container", async () => {
  const { creation, work } = world();
  const { pod: object, allocation: given, containerSpec } = creation;
  const admittedPods = new LatestTable<string, AdmittedPod>();
  const allocators = [new FakeCpuAllocator({ sets: ["2-3"], admittedPods, journaledPods: new Map() })];
  const stage = new AllocationStage({ allocators, journaledPods: new Map(), log: keptLog() });
  const verdict = await stage.allocate(object, given, signal);
  const { allocation } = verdict.kind === "admitted" ? verdict : assert.fail(verdict.kind);
  const { resources } = containerConfig(object, containerSpec.container, {
    restartCount: 0,
    imageRef: "sha256:1",
    inputs: await gatherInputs(CONTAINER_CONTRIBUTORS, { ...creation, allocation }, work, signal),
    security: { seccompDefault: false, seccompRoot: "/seccomp", thermalPaths: [] },
    identity: { volumeGroups: [], users: NODE_USERS },
    stopSignals: false,
    selinux: false,
  });
  assert.deepEqual([resources?.cpusetCpus, resources?.cpuQuotaUs], ["2-3", -1]);
});
