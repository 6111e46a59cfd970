import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CONTAINER_ID,
  cpu,
  group,
  groupsOfPod,
  memory,
  POD_GROUP,
  pod,
  READ_MS,
  reading,
  SANDBOX_ID,
} from "../../../test/support/cgroup-stats-fixtures.ts";
import { expositionText } from "../../../test/support/exposition.ts";
import { type CadvisorInputs, containerFamilies } from "./cadvisor-metrics.ts";
import { machineFamilies } from "./machine-metrics.ts";
import { resourceFamilies } from "./resource-metrics.ts";
import type { CgroupStats } from "./stats-reading.ts";
import type { VolumeStats } from "./summary-shape.ts";
import { volumeFamilies } from "./volume-metrics.ts";

const lines = (families: Parameters<typeof expositionText>[0], name: string) =>
  expositionText(families, "text")
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));

const cadvisor = (groups: readonly CgroupStats[], changes: Partial<CadvisorInputs> = {}) => [
  ...containerFamilies({
    reading: reading(groups),
    pods: [pod()],
    sandboxImages: new Map([[SANDBOX_ID, "pause:3"]]),
    tellsPressure: true,
    nowWallMs: READ_MS + 700,
    ...changes,
  }),
];

void test("[21.1] samples of the resource metrics carry the time of the reading, except the start time", () => {
  const families = resourceFamilies(reading(groupsOfPod()), [pod()]);
  assert.equal(
    expositionText(families, "text"),
    `# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="holder",namespace="default",pod="busy"} 2.471042997 ${READ_MS}
# HELP container_memory_working_set_bytes [STABLE] Current working set of the container in bytes
# TYPE container_memory_working_set_bytes gauge
container_memory_working_set_bytes{container="holder",namespace="default",pod="busy"} 2.2e+07 ${READ_MS}
# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds
# TYPE container_start_time_seconds gauge
container_start_time_seconds{container="holder",namespace="default",pod="busy"} 1.794777135535e+09
# HELP container_swap_limit_bytes [ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems
# TYPE container_swap_limit_bytes gauge
container_swap_limit_bytes{container="holder",namespace="default",pod="busy"} 1e+08 ${READ_MS}
# HELP container_swap_usage_bytes [ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems
# TYPE container_swap_usage_bytes gauge
container_swap_usage_bytes{container="holder",namespace="default",pod="busy"} 0 ${READ_MS}
# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 2.471042997 ${READ_MS}
# HELP node_memory_working_set_bytes [STABLE] Current working set of the node in bytes
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes 2.2e+07 ${READ_MS}
# HELP node_swap_usage_bytes [ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems
# TYPE node_swap_usage_bytes gauge
node_swap_usage_bytes 0 ${READ_MS}
# HELP pod_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the pod in core-seconds
# TYPE pod_cpu_usage_seconds_total counter
pod_cpu_usage_seconds_total{namespace="default",pod="busy"} 2.471042997 ${READ_MS}
# HELP pod_memory_working_set_bytes [STABLE] Current working set of the pod in bytes
# TYPE pod_memory_working_set_bytes gauge
pod_memory_working_set_bytes{namespace="default",pod="busy"} 2.2e+07 ${READ_MS}
# HELP pod_swap_usage_bytes [ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems
# TYPE pod_swap_usage_bytes gauge
pod_swap_usage_bytes{namespace="default",pod="busy"} 0 ${READ_MS}
# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE resource_scrape_error gauge
resource_scrape_error 0
`,
  );
});

void test("[21.1] a failed reading gives resource_scrape_error 1; a container without a swap limit gets no swap limit sample", () => {
  assert.deepEqual(lines(resourceFamilies(undefined, [pod()]), "resource_scrape_error"), ["resource_scrape_error 1"]);
  const unlimited = groupsOfPod().map((each) => ({ ...each, memory: memory({ swapLimitBytes: Infinity }) }));
  assert.deepEqual(lines(resourceFamilies(reading(unlimited), [pod()]), "container_swap_limit_bytes"), []);
});

void test("[21.5] containers have all labels, sandboxes no container name, pods only the pod, tiers none", () => {
  const reported = lines(cadvisor(groupsOfPod()), "container_memory_rss").map((line) => line.replace(/ .*/, ""));
  assert.deepEqual(reported, [
    'container_memory_rss{container="",id="/",image="",name="",namespace="",pod=""}',
    'container_memory_rss{container="",id="/kubepods",image="",name="",namespace="",pod=""}',
    `container_memory_rss{container="",id="${POD_GROUP}",image="",name="",namespace="default",pod="busy"}`,
    `container_memory_rss{container="",id="${POD_GROUP}/${SANDBOX_ID}",image="pause:3",name="${SANDBOX_ID}",namespace="default",pod="busy"}`,
    `container_memory_rss{container="holder",id="${POD_GROUP}/${CONTAINER_ID}",image="busybox:1",name="${CONTAINER_ID}",namespace="default",pod="busy"}`,
  ]);
});

void test("[21.5] periods and throttling are reported with a quota, and CPU time above zero", () => {
  const idle = group("/kubepods", { cpu: cpu({ usageNs: 0 }) });
  const bound = group("/kubepods/x", {
    cpu: cpu({ quotaUs: 5_000, periods: 12, throttledPeriods: 11, throttledNs: 2e9 }),
  });
  const families = cadvisor([idle, bound]);
  const value = (name: string) =>
    lines(families, name).map((line) => `${/id="([^"]*)"/.exec(line)?.[1]} ${line.split(" ")[1]}`);
  assert.deepEqual(value("container_cpu_cfs_throttled_seconds_total"), ["/kubepods/x 2"]);
  assert.deepEqual(value("container_cpu_cfs_periods_total"), ["/kubepods/x 12"]);
  assert.deepEqual(value("container_spec_cpu_quota"), ["/kubepods/x 5000"]);
  assert.deepEqual(value("container_cpu_usage_seconds_total"), ["/kubepods/x 2.471042997"]);
  assert.deepEqual(value("container_spec_memory_limit_bytes"), ["/kubepods 1e+08", "/kubepods/x 1e+08"]);
  assert.deepEqual(value("container_spec_memory_reservation_limit_bytes"), ["/kubepods 0", "/kubepods/x 0"]);
});

void test("[21.5] labels and families are sorted, and quotas have no timestamp", () => {
  const quota = group("/a", {
    cpu: cpu({ quotaUs: 1 }),
    processes: { processes: 1, openFiles: 1, sockets: 0, threads: 1, threadsMax: 0, openFilesMax: 20_000 },
  });
  const families = cadvisor([quota]);
  const rest = 'id="/a",image="",name="",namespace="",pod=""';
  assert.deepEqual(lines(families, "container_cpu_usage_seconds_total"), [
    `container_cpu_usage_seconds_total{container="",cpu="total",${rest}} 2.471042997 ${READ_MS}`,
  ]);
  assert.deepEqual(lines(families, "container_ulimits_soft"), [
    `container_ulimits_soft{container="",${rest},ulimit="max_open_files"} 20000 ${READ_MS}`,
  ]);
  assert.deepEqual(lines(families, "container_memory_failures_total"), [
    `container_memory_failures_total{container="",failure_type="pgfault",${rest},scope="container"} 2013 ${READ_MS}`,
    `container_memory_failures_total{container="",failure_type="pgfault",${rest},scope="hierarchy"} 2013 ${READ_MS}`,
    `container_memory_failures_total{container="",failure_type="pgmajfault",${rest},scope="container"} 3 ${READ_MS}`,
    `container_memory_failures_total{container="",failure_type="pgmajfault",${rest},scope="hierarchy"} 3 ${READ_MS}`,
  ]);
  assert.deepEqual(lines(families, "container_spec_cpu_quota"), [`container_spec_cpu_quota{container="",${rest}} 1`]);
  assert.deepEqual(lines(families, "container_last_seen"), [
    `container_last_seen{container="",${rest}} 1.794777185e+09 ${READ_MS + 700}`,
  ]);
  const names = families.map(({ name }) => name);
  assert.deepEqual(names, names.toSorted());
});

void test("[21.5] pressure is reported only if the kernel supports it and the feature gate is on", () => {
  const line = { totalUs: 1_500_000, avg10: 0, avg60: 0, avg300: 0 };
  const pressed = group("/a", { cpu: cpu({ pressure: { full: { ...line, totalUs: 0 }, some: line } }) });
  const of = (knowsPressure: boolean, tellsPressure: boolean) =>
    cadvisor([pressed], { reading: reading([pressed], { knowsPressure }), tellsPressure }).filter(({ name }) =>
      name.includes("pressure"),
    );
  assert.deepEqual([of(false, true).length, of(true, false).length, of(true, true).length], [0, 0, 6]);
  const [waiting] = lines(of(true, true), "container_pressure_cpu_waiting_seconds_total");
  assert.equal(waiting?.split(" ")[1], "1.5");
});

void test("[14.12] the six pressure families report waiting and stalled seconds", () => {
  const of = (some: number, full: number) => ({
    some: { totalUs: some, avg10: 0, avg60: 0, avg300: 0 },
    full: { totalUs: full, avg10: 0, avg60: 0, avg300: 0 },
  });
  const pressed = group("/a", {
    cpu: cpu({ pressure: of(1_000_000, 2_000_000) }),
    memory: memory({ pressure: of(3_000_000, 4_000_000) }),
    io: { devices: [], pressure: of(5_000_000, 6_000_001) },
  });
  const families = cadvisor([pressed], { reading: reading([pressed], { knowsPressure: true }), tellsPressure: true });
  const value = (name: string) => lines(families, `container_pressure_${name}_seconds_total`)[0]?.split(" ")[1];
  assert.deepEqual(
    ["cpu_waiting", "cpu_stalled", "memory_waiting", "memory_stalled", "io_waiting", "io_stalled"].map(value),
    ["1", "2", "3", "4", "5", "6.000001"],
  );
});

void test("[21.5] disk metrics come from cgroup I/O and from the machine's filesystems, with cAdvisor's time unit", () => {
  const io = {
    devices: [
      { major: 254, minor: 0, device: "/dev/vda", bytes: { Read: 4096, Write: 8192 }, requests: { Read: 1, Write: 2 } },
    ],
  };
  const disk = {
    reads: 5,
    readsMerged: 0,
    sectorsRead: 0,
    readMs: 0,
    writes: 6,
    writesMerged: 0,
    sectorsWritten: 0,
    writeMs: 0,
    inProgress: 0,
    ioMs: 981_976,
    weightedIoMs: 0,
  };
  const mounts = [
    { device: "/dev/vda", capacityBytes: 1000, freeBytes: 300, availableBytes: 200, inodes: 9, inodesFree: 8, disk },
  ];
  const families = cadvisor([group("/"), group("/a", { io })], {
    reading: reading([group("/"), group("/a", { io })], { mounts }),
  });
  const value = (name: string) =>
    lines(families, name).map((line) => `${/id="([^"]*)"/.exec(line)?.[1]} ${line.split(" ")[1]}`);
  assert.deepEqual(value("container_fs_usage_bytes"), ["/ 700"]);
  assert.deepEqual(value("container_fs_reads_total"), ["/ 5", "/a 1"]);
  assert.deepEqual(value("container_fs_writes_bytes_total"), ["/a 8192"]);
  assert.deepEqual(value("container_fs_io_time_seconds_total"), ["/ 0.000981976"]);
  assert.deepEqual(value("container_blkio_device_usage_total"), ["/a 4096", "/a 8192"]);
});

void test("[21.5] machine metrics carry the machine's IDs", () => {
  const families = machineFamilies({
    cpus: 4,
    physicalCores: 2,
    sockets: 1,
    memoryBytes: 8n,
    swapBytes: 0n,
    machineId: "m",
    systemUuid: "u",
    bootId: "b",
    kernelVersion: "6.1",
    osImage: "Debian",
  });
  assert.deepEqual(lines(families, "machine_cpu_cores"), [
    'machine_cpu_cores{boot_id="b",machine_id="m",system_uuid="u"} 4',
  ]);
  assert.deepEqual(lines(families, "cadvisor_version_info"), [
    'cadvisor_version_info{cadvisorRevision="",cadvisorVersion="",dockerVersion="",kernelVersion="6.1",osVersion="Debian"} 1',
  ]);
  assert.deepEqual(lines(families, "machine_nvm_capacity").length, 2);
});

void test("[13.27] volume stats are reported once per claim, and not for volumes without a claim", () => {
  const volume = (claim: string | undefined): VolumeStats => ({
    time: "",
    name: "v",
    availableBytes: 1,
    capacityBytes: 2,
    usedBytes: 3,
    inodes: 4,
    inodesFree: 5,
    inodesUsed: 6,
    ...(claim === undefined ? {} : { pvcRef: { name: claim, namespace: "default" } }),
  });
  const text = expositionText(volumeFamilies([volume("data"), volume("data"), volume(undefined)]), "text");
  assert.deepEqual(
    text.split("\n").filter((line) => line !== "" && !line.startsWith("#")),
    ["available_bytes 1", "capacity_bytes 2", "inodes 4", "inodes_free 5", "inodes_used 6", "used_bytes 3"].map(
      (each) => {
        const [name, value] = each.split(" ");
        return `kubelet_volume_stats_${name}{namespace="default",persistentvolumeclaim="data"} ${value}`;
      },
    ),
  );
  assert.deepEqual(volumeFamilies([volume(undefined)]), []);
});
