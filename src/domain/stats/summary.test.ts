import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CONTAINER_ID,
  CREATED_MS,
  group,
  groupsOfPod,
  memory,
  POD_GROUP,
  POD_UID,
  pod,
  READ_MS,
  reading,
  SANDBOX_ID,
} from "../../../test/support/cgroup-stats-fixtures.ts";
import type { FilesystemUsage } from "../runtime/image.ts";
import type { CgroupStats, NetworkInterfaceStats } from "./stats-reading.ts";
import { type StorageInputs, type SummaryInputs, summaryFiles, summaryOf, usageSummaryOf } from "./summary.ts";

const TIME = "2026-11-15T21:13:04Z";
const directories = { root: "/var/lib/kubelet", podLogs: "/var/log/pods" };
const room = { capacityBytes: 1000, freeBytes: 700, availableBytes: 600, inodes: 100, inodesFree: 40 };
const layer: FilesystemUsage = {
  wallNs: BigInt(READ_MS) * 1_000_000n,
  mountpoint: "/images",
  usedBytes: 30n,
  inodesUsed: 3n,
};
const LOGS = `/var/log/pods/default_busy_${POD_UID}`;

const inputs = (changes: Partial<SummaryInputs> = {}): SummaryInputs => ({
  nodeName: "n1",
  reading: reading(groupsOfPod(), {
    filesystems: new Map([
      [directories.root, room],
      ["/images", { ...room, capacityBytes: 2000 }],
    ]),
    files: new Map([
      [LOGS, { bytes: 1, inodes: 1 }],
      [`${LOGS}/holder`, { bytes: 20, inodes: 2 }],
      [`/var/lib/kubelet/pods/${POD_UID}/etc-hosts`, { bytes: 4, inodes: 1 }],
    ]),
  }),
  options: { nanoCoresOf: () => 50_003_987, tellsPressure: true },
  pods: [pod()],
  systemGroups: { kubelet: "/kubelet", runtime: "", misc: "", pods: "/kubepods" },
  startedWallMs: CREATED_MS,
  ...changes,
});

const storage = (changes: Partial<StorageInputs> = {}): StorageInputs => ({
  directories,
  layers: new Map([[CONTAINER_ID, layer]]),
  images: { ...layer, usedBytes: 500n },
  containers: undefined,
  volumesOf: () => [],
  processes: { count: 241, max: 32_768 },
  nowWallMs: READ_MS,
  ...changes,
});

const withGroups = (groups: readonly CgroupStats[]) => inputs({ reading: { ...inputs().reading, groups } });
const NO_PSI = { total: 0, avg10: 0, avg60: 0, avg300: 0 };

void test("[21.3] a container has all its stats, times in whole seconds, and zero pressure without kernel support", () => {
  const [reported] = summaryOf(inputs(), storage()).pods;
  assert.deepEqual(reported?.containers, [
    {
      name: "holder",
      startTime: "2026-11-15T21:12:15Z",
      cpu: {
        time: TIME,
        usageNanoCores: 50_003_987,
        usageCoreNanoSeconds: 2_471_042_997,
        psi: { full: NO_PSI, some: NO_PSI },
      },
      memory: {
        time: TIME,
        availableBytes: 78_000_000,
        usageBytes: 30_000_000,
        workingSetBytes: 22_000_000,
        rssBytes: 57_344,
        pageFaults: 2_013,
        majorPageFaults: 3,
        psi: { full: NO_PSI, some: NO_PSI },
      },
      swap: { time: TIME, swapAvailableBytes: 100_000_000, swapUsageBytes: 0 },
      io: { time: TIME, psi: { full: NO_PSI, some: NO_PSI } },
      rootfs: {
        time: TIME,
        availableBytes: 600,
        capacityBytes: 2000,
        inodesFree: 40,
        inodes: 100,
        usedBytes: 30,
        inodesUsed: 3,
      },
      logs: {
        time: TIME,
        availableBytes: 600,
        capacityBytes: 1000,
        inodesFree: 40,
        inodes: 100,
        usedBytes: 20,
        inodesUsed: 2,
      },
    },
  ]);
});

void test("[21.9][21.3] ephemeral storage is the sum of container files, logs, volumes on disk and the pod's own files", () => {
  const volume = { time: TIME, usedBytes: 5000, inodesUsed: 7, name: "scratch" };
  const inMemory = { ...volume, usedBytes: 99, name: "mem" };
  const volumesOf = () => [
    { stats: volume, ephemeral: true },
    { stats: inMemory, ephemeral: false },
  ];
  const [reported] = summaryOf(inputs(), storage({ volumesOf })).pods;
  assert.deepEqual(reported?.["ephemeral-storage"], {
    time: TIME,
    availableBytes: 600,
    capacityBytes: 1000,
    inodesFree: 40,
    inodes: 100,
    usedBytes: 30 + 20 + 5000 + 1 + 4,
    inodesUsed: 3 + 2 + 7 + 1 + 1,
  });
  assert.deepEqual(reported.volume, [volume, inMemory]);
  assert.deepEqual(reported.process_stats, { process_count: 1 }, "the sandbox's process is not counted");
});

void test("[21.3] network stats come from the sandbox, with eth0 as the default interface if there is one", () => {
  const other: NetworkInterfaceStats = {
    name: "net1",
    rxBytes: 1,
    rxPackets: 2,
    rxErrors: 3,
    rxDropped: 4,
    txBytes: 5,
    txPackets: 6,
    txErrors: 7,
    txDropped: 8,
  };
  const network = (interfaces: readonly NetworkInterfaceStats[]) => {
    const groups = groupsOfPod().map((each) =>
      each.id.endsWith(SANDBOX_ID) ? { ...each, network: interfaces } : each,
    );
    return summaryOf(withGroups(groups), storage()).pods[0]?.network;
  };
  const line = { rxBytes: 1, rxErrors: 3, txBytes: 5, txErrors: 7 };
  assert.deepEqual(network([other, { ...other, name: "eth0" }]), {
    time: TIME,
    name: "eth0",
    ...line,
    interfaces: [
      { name: "net1", ...line },
      { name: "eth0", ...line },
    ],
  });
  assert.deepEqual(network([other]), { time: TIME, name: "", interfaces: [{ name: "net1", ...line }] });
  assert.equal(summaryOf(inputs(), storage()).pods[0]?.network, undefined);
});

void test("[21.3] the node has filesystem, image filesystem, process count and the existing system containers", () => {
  const groups = [...groupsOfPod(), group("/kubelet", { createdWallMs: 5 })];
  const { node } = summaryOf(withGroups(groups), storage());
  assert.deepEqual([node.nodeName, node.startTime], ["n1", "2026-11-15T14:23:37Z"]);
  assert.deepEqual(node.fs, {
    time: TIME,
    availableBytes: 600,
    capacityBytes: 1000,
    inodesFree: 40,
    inodes: 100,
    usedBytes: 300,
    inodesUsed: 60,
  });
  assert.deepEqual(node.runtime?.imageFs, {
    time: TIME,
    availableBytes: 600,
    capacityBytes: 2000,
    inodesFree: 40,
    inodes: 100,
    usedBytes: 500,
    inodesUsed: 3,
  });
  assert.deepEqual(node.runtime.containerFs, node.runtime.imageFs);
  assert.deepEqual(node.rlimit, { time: TIME, maxpid: 32_768, curproc: 241 });
  const system = node.systemContainers.map(({ name, startTime, io, rootfs }) => [name, startTime, io?.time, rootfs]);
  assert.deepEqual(system, [
    ["kubelet", "2026-11-15T21:12:15Z", TIME, undefined],
    ["pods", "2026-11-15T21:12:15Z", TIME, undefined],
  ]);
  assert.equal(
    node.systemContainers[0]?.startTime,
    "2026-11-15T21:12:15Z",
    "the start of this process, not of its cgroup",
  );
});

void test("[9.13] the file system of writable layers is reported apart from that of the images", () => {
  const containers = { ...layer, mountpoint: directories.root, usedBytes: 70n };
  const { runtime } = summaryOf(inputs(), storage({ containers })).node;
  const what = [runtime?.imageFs, runtime?.containerFs].map((fs) => [fs?.capacityBytes, fs?.usedBytes]);
  assert.deepEqual(what, [
    [2000, 500],
    [1000, 70],
  ]);
});

void test("[20.12] only_cpu_and_memory has CPU, memory and swap, and nothing else", () => {
  const { node, pods } = usageSummaryOf(inputs());
  assert.deepEqual(Object.keys(node), ["nodeName", "systemContainers", "startTime", "cpu", "memory", "swap"]);
  assert.deepEqual(Object.keys(pods[0] ?? {}), ["podRef", "startTime", "containers", "cpu", "memory", "swap"]);
  assert.deepEqual(Object.keys(pods[0]?.containers[0] ?? {}), ["name", "startTime", "cpu", "memory", "swap"]);
  assert.equal(node.startTime, "2026-11-15T21:12:15Z", "the creation of the root cgroup, as in the Go kubelet");
});

void test("[21.2] available bytes are 0 beyond the limit and unset without one", () => {
  const only = (changes: Parameters<typeof memory>[0]) => {
    const groups = [group(`${POD_GROUP}/${CONTAINER_ID}`, { memory: memory(changes) })];
    return usageSummaryOf(withGroups(groups)).pods[0]?.containers[0];
  };
  assert.equal(only({ limitBytes: 10 })?.memory?.availableBytes, 0);
  assert.equal(only({ limitBytes: Infinity })?.memory?.availableBytes, undefined);
  assert.equal(only({ inactiveFileBytes: 40_000_000 })?.memory?.workingSetBytes, 0);
  assert.equal(only({ swapLimitBytes: Infinity })?.swap?.swapAvailableBytes, undefined);
});

void test("a container without a cgroup reading is omitted, and so is a pod without containers", () => {
  const groups = groupsOfPod().filter(({ id }) => !id.endsWith(CONTAINER_ID));
  assert.deepEqual(summaryOf(withGroups(groups), storage()).pods, []);
  assert.deepEqual(usageSummaryOf(withGroups(groups)).pods, []);
});

void test("[14.12] pressure is reported for node, pods and containers, for CPU, memory and I/O", () => {
  const pressure = (totalUs: number) => ({
    some: { totalUs, avg10: 1.5, avg60: 0.5, avg300: 0.25 },
    full: { totalUs: totalUs - 1, avg10: 0, avg60: 0, avg300: 0 },
  });
  const psi = (total: number) => ({
    some: { total, avg10: 1.5, avg60: 0.5, avg300: 0.25 },
    full: { total: total - 1, avg10: 0, avg60: 0, avg300: 0 },
  });
  const groups = groupsOfPod().map((one) => ({
    ...one,
    ...(one.cpu && { cpu: { ...one.cpu, pressure: pressure(11) } }),
    ...(one.memory && { memory: { ...one.memory, pressure: pressure(22) } }),
    io: { devices: [], pressure: pressure(33) },
  }));
  const { node, pods } = summaryOf(withGroups(groups), storage());
  for (const reported of [node, pods[0], pods[0]?.containers[0]]) {
    assert.deepEqual([reported?.cpu?.psi, reported?.memory?.psi, reported?.io?.psi], [psi(11), psi(22), psi(33)]);
  }
});

void test("no pressure is reported without the feature gate, and no rate without two readings", () => {
  const options = { nanoCoresOf: () => undefined, tellsPressure: false };
  const [reported] = summaryOf(inputs({ options }), storage()).pods;
  assert.deepEqual(
    [reported?.containers[0]?.cpu, reported?.io],
    [{ time: TIME, usageCoreNanoSeconds: 2_471_042_997 }, undefined],
  );
});

void test("cgroups of the systemd driver are recognized by name", () => {
  const slice = `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${POD_UID.replaceAll("-", "_")}.slice`;
  const groups = [group("/"), group(slice), group(`${slice}/cri-containerd-${CONTAINER_ID}.scope`)];
  const [reported] = usageSummaryOf(withGroups(groups)).pods;
  assert.deepEqual(
    [reported?.podRef.name, reported?.containers.length, reported?.cpu?.usageCoreNanoSeconds],
    ["busy", 1, 2_471_042_997],
  );
});

void test("[21.9] the files measured are the pod's logs, its containers' logs and its hosts file", () => {
  assert.deepEqual(summaryFiles(directories, [pod()]), [
    LOGS,
    `/var/lib/kubelet/pods/${POD_UID}/etc-hosts`,
    `${LOGS}/holder`,
  ]);
});
