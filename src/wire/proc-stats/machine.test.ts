import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, hostname, release, tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { machineContract } from "../../../test/contract/machine-contract.ts";
import type { InterfaceAddress } from "../../ports/machine.ts";
import { createMachine } from "./machine.ts";

machineContract("this machine", () => ({
  machine: createMachine(),
  paths: [tmpdir(), tmpdir()],
  names: { known: "localhost", unknown: "no-such-name.invalid" },
}));

const scratch = mkdtempSync(join(tmpdir(), "deckhand-machine-"));
after(() => rmSync(scratch, { recursive: true }));
let trees = 0;

/** A recorded machine: files by path. */
function tree(files: Readonly<Record<string, string>>, interfaces: readonly InterfaceAddress[] = []) {
  trees += 1;
  const root = join(scratch, String(trees));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return createMachine({ root, interfaces: () => interfaces });
}

const small = {
  "/proc/meminfo":
    "MemTotal:       24682416 kB\nMemFree:         1234 kB\nSwapCached: 7 kB\nSwapTotal:       2097148 kB\n",
  "/proc/sys/kernel/hostname": "Node-1\n",
  "/proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
  "/proc/sys/kernel/random/boot_id": "17e6f6b4-0168-4d3b-8f78-283f3935fbb5\n",
  "/proc/sys/kernel/pid_max": "4194304\n",
  "/proc/sys/kernel/threads-max": "192534\n",
  "/sys/devices/system/cpu/cpu0/topology/core_id": "0\n",
  "/sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
};

void test("[3.6] CPUs and memory of this machine are the kernel's, not those of our cgroup or affinity", async () => {
  const facts = await createMachine().facts();
  assert.deepEqual([facts.cpus, facts.memoryBytes], [cpus().length, BigInt(totalmem())]);
});

void test("[3.8] hostname and kernel version of this machine are the kernel's", async () => {
  const facts = await createMachine().facts();
  assert.deepEqual([facts.hostname, facts.kernelVersion], [hostname(), release()]);
});

void test("[3.6] memory and swap are in bytes, and the smaller of two PID limits counts", async () => {
  const facts = await tree(small).facts();
  assert.deepEqual(
    [facts.cpus, facts.memoryBytes, facts.swapBytes, facts.pidsMax],
    [1, 24_682_416n * 1024n, 2_097_148n * 1024n, 192_534],
  );
});

void test("SELinux is reported when it is mounted and the process has a security context", async () => {
  const mounted = { ...small, "/sys/fs/selinux/enforce": "1" };
  const label = (text: string) => ({ "/proc/self/attr/current": text });
  const isOn = async (files: Readonly<Record<string, string>>) => (await tree(files).facts()).selinux;
  assert.equal(await isOn({ ...small, ...label("unconfined\n") }), false);
  assert.equal(await isOn({ ...mounted, ...label("kernel\0") }), false);
  assert.equal(await isOn({ ...mounted, ...label("system_u:system_r:kubelet_t:s0\0") }), true);
});

function cpuTree(directory: string, numbers: readonly number[], withPlace = true): Record<string, string> {
  return Object.fromEntries(
    numbers.flatMap((number) =>
      withPlace
        ? [
            [`${directory}/cpu${number}/topology/core_id`, `${number}\n`],
            [`${directory}/cpu${number}/topology/physical_package_id`, "0\n"],
          ]
        : [[`${directory}/cpu${number}/uevent`, ""]],
    ),
  );
}

for (const [name, files, wanted] of [
  [
    "of all NUMA nodes, and only those online",
    {
      ...cpuTree("/sys/devices/system/node/node0", [0, 1, 2, 3]),
      ...cpuTree("/sys/devices/system/node/node1", [4, 5, 6, 11]),
      "/sys/devices/system/node/node2/meminfo": "",
      "/sys/devices/system/cpu/online": "0-2,4,11\n",
    },
    5,
  ],
  ["all of them where the kernel knows no hotplug", cpuTree("/sys/devices/system/node/node0", [0, 1, 10]), 3],
  [
    "none that is offline and has lost its place",
    {
      ...cpuTree("/sys/devices/system/node/node0", [0, 1]),
      ...cpuTree("/sys/devices/system/node/node0", [2], false),
      "/sys/devices/system/cpu/online": "0-1\n",
    },
    2,
  ],
  [
    "of the machine where it has no NUMA nodes",
    { ...cpuTree("/sys/devices/system/cpu", [0, 1, 2]), "/sys/devices/system/cpu/online": "0,2\n" },
    2,
  ],
  ["all that show where none has a package", cpuTree("/sys/devices/system/cpu", [0, 1, 2, 3], false), 4],
] as const) {
  void test(`[3.6] CPUs are counted: ${name}`, async () => {
    const rest = Object.fromEntries(Object.entries(small).filter(([path]) => !path.startsWith("/sys")));
    assert.equal((await tree({ ...rest, ...files }).facts()).cpus, wanted);
  });
}

void test("[3.6] a CPU that goes offline is no longer counted", async () => {
  const files = { ...small, ...cpuTree("/sys/devices/system/node/node0", [0, 1, 2]) };
  const online = "/sys/devices/system/cpu/online";
  const machine = tree({ ...files, [online]: "0-2\n" });
  assert.equal((await machine.facts()).cpus, 3);
  writeFileSync(join(scratch, String(trees), online), "0,2\n");
  assert.equal((await machine.facts()).cpus, 2);
});

void test("[3.6] huge pages are reported by size, also when none is allocated", async () => {
  const hugepages = "/sys/kernel/mm/hugepages";
  const { hugepages: found } = await tree({
    ...small,
    [`${hugepages}/hugepages-2048kB/nr_hugepages`]: "128\n",
    [`${hugepages}/hugepages-1048576kB/nr_hugepages`]: "0\n",
  }).facts();
  const wanted = [
    [2_097_152n, 268_435_456n],
    [1_073_741_824n, 0n],
  ] as const;
  assert.deepEqual(found, new Map(wanted));
  assert.deepEqual((await tree(small).facts()).hugepages, new Map());
});

for (const [name, files, wanted] of [
  ["the firmware's", { "/sys/class/dmi/id/product_uuid": "B3F1-A\n", "/etc/machine-id": "m1\n" }, ["B3F1-A", "m1"]],
  ["POWER's", { "/proc/device-tree/system-id": "IBM,02\0", "/proc/device-tree/vm,uuid": "v\0" }, ["IBM,02", ""]],
  ["a POWER guest's", { "/proc/device-tree/vm,uuid": "v1\0", "/var/lib/dbus/machine-id": "m2\n" }, ["v1", "m2"]],
  ["the machine ID where there is no other", { "/etc/machine-id": "m1\n" }, ["m1", "m1"]],
  ["empty at last", {}, ["", ""]],
] as const) {
  void test(`[3.8] the system's UUID is ${name}`, async () => {
    const facts = await tree({ ...small, ...files }).facts();
    assert.deepEqual([facts.systemUuid, facts.machineId], wanted);
  });
}

for (const [name, files, wanted] of [
  [
    "its pretty name",
    { "/etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n' },
    "Debian GNU/Linux 12 (bookworm)",
  ],
  ["that of a stateless system", { "/usr/lib/os-release": "PRETTY_NAME=Clear\n" }, "Clear"],
  ["Linux when it has none", { "/etc/os-release": "NAME=x\n" }, "Linux"],
  ["Unknown without the file", {}, "Unknown"],
] as const) {
  void test(`[3.8] the OS image is ${name}`, async () => {
    assert.equal((await tree({ ...small, ...files }).facts()).osImage, wanted);
  });
}

const memory1 = "/sys/fs/cgroup/memory";
for (const [name, files, wanted] of [
  [
    "usage without inactive files, on v1 those of the whole hierarchy",
    {
      [`${memory1}/memory.usage_in_bytes`]: "5000\n",
      [`${memory1}/memory.stat`]: "inactive_file 9\ntotal_inactive_file 1200\n",
      "/sys/fs/cgroup/unified/cgroup.controllers": "hugetlb\n",
    },
    3800n,
  ],
  [
    "never below zero",
    { [`${memory1}/memory.usage_in_bytes`]: "5\n", [`${memory1}/memory.stat`]: "total_inactive_file 6\n" },
    0n,
  ],
  [
    "on v2 what is anonymous and cached, because its root has no usage",
    {
      "/sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
      "/sys/fs/cgroup/memory.stat": "anon 4000\nfile 3000\nfile_mapped 1\ninactive_anon 2\ninactive_file 2500\n",
    },
    4500n,
  ],
] as const) {
  void test(`[17.2] [21.2] the machine's working set is ${name}`, async () => {
    assert.equal(await tree(files).memoryWorkingSetBytes(), wanted);
  });
}

void test("[17.2] the machine's available memory is the kernel's estimate, in bytes", async () => {
  const meminfo = "MemTotal:       24576 kB\nMemFree:        1000 kB\nMemAvailable:   5000 kB\n";
  assert.equal(await tree({ "/proc/meminfo": meminfo }).memoryAvailableBytes(), 5_120_000n);
  await assert.rejects(tree({ "/proc/meminfo": "MemTotal: 1 kB\n" }).memoryAvailableBytes(), /MemAvailable/);
});

void test("[17.2] processes are the kernel's tasks, threads included", async () => {
  assert.equal(await tree({ "/proc/loadavg": "1.36 3.49 4.53 2/70518 3715089\n" }).processCount(), 70_518);
  await assert.rejects(tree({ "/proc/loadavg": "what\n" }).processCount(), /loadavg/);
});

const header = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
const route4 = (name: string, destination: string) =>
  `${name}\t${destination}\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n`;
const zero6 = "0".repeat(32);
const route6 = (name: string, destination: string, gateway: string) =>
  `${destination} 00 ${zero6} 00 ${gateway} 00000400 00000002 00000000 00000003 ${name}\n`;
const on = (interfaceName: string, address: string): InterfaceAddress => ({
  interfaceName,
  address,
  family: address.includes(":") ? "IPv6" : "IPv4",
});

for (const [name, files, interfaces, wanted] of [
  [
    "of the first default route whose interface has a global one",
    {
      "/proc/net/route": `${header}${route4("eth1", "000200C0")}${route4("eth0", "00000000")}${route4("eth1", "00000000")}`,
    },
    [on("lo", "127.0.0.1"), on("eth0", "169.254.1.1"), on("eth1", "192.0.2.7"), on("eth1", "192.0.2.8")],
    ["192.0.2.7", undefined],
  ],
  [
    "of the loopback where the links have none of their own",
    {
      "/proc/net/route": `${header}${route4("eth0", "00000000")}`,
      "/proc/net/ipv6_route": route6("eth0", zero6, `fe80${"0".repeat(27)}1`),
    },
    [on("lo", "127.0.0.1"), on("lo", "192.0.2.9"), on("lo", "::1"), on("lo", "2001:db8::9"), on("eth0", "fe80::1")],
    ["192.0.2.9", "2001:db8::9"],
  ],
  [
    "of IPv6 apart, and never by the kernel's entry without a gateway",
    {
      "/proc/net/route": header,
      "/proc/net/ipv6_route": `${route6("lo", zero6, zero6)}${route6("eth0", `2001${"0".repeat(28)}`, zero6)}`,
    },
    [on("eth0", "2001:db8::7"), on("eth0", "192.0.2.7")],
    [undefined, undefined],
  ],
  [
    "of any link where there is no table of routes",
    {},
    [on("lo", "192.0.2.1"), on("eth0", "fe80::1"), on("eth0", "192.0.2.7"), on("eth0", "2001:db8::7")],
    ["192.0.2.7", "2001:db8::7"],
  ],
] as const) {
  void test(`[3.5] the default address is that ${name}`, async () => {
    const machine = tree(files, interfaces);
    assert.deepEqual([await machine.defaultRouteAddress("IPv4"), await machine.defaultRouteAddress("IPv6")], wanted);
  });
}
