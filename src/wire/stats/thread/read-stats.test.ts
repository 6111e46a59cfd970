/** Reads recorded kernel files of both cgroup versions and compares the exact stats. */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, suite, test } from "node:test";
import { RecentMap } from "../../../base/recent-map.ts";
import type { CgroupStats, StatsReading } from "../../../domain/stats/stats-reading.ts";
import type { StatsQuestion } from "../../../ports/stats.ts";
import { type CgroupCreation, readStats } from "./read-stats.ts";

const scratch = mkdtempSync(join(tmpdir(), "deckhand-stats-"));
after(() => rmSync(scratch, { recursive: true }));
let trees = 0;

const ID = "3c8c0baaf172cd7732033f872953404ad5a89fd6096fbd757f4f15425322870b";
const POD = "/kubepods/burstable/pod31f732eb-a48f-45d6-a813-1b999668fbba";
const CONTAINER = `${POD}/${ID}`;
/** Cgroups whose I/O counters include the cgroups below them. */
const BETWEEN = ["/kubepods/burstable", POD];
const BOOTED_S = 1_700_000_000;
const NOW_MS = (BOOTED_S + 5_000) * 1000;
const CREATED_S = BOOTED_S + 3_000;

const MACHINE = {
  "proc/uptime": "5000.00 9000.00\n",
  "proc/meminfo": "MemTotal:       1000 kB\nMemFree: 1 kB\nSwapTotal:       50 kB\nSwapFree:       20 kB\n",
  "proc/diskstats":
    "   7       0 loop0 1 1 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0\n 254       0 vda 618124 55693 18269442 841749 5919376 1712047 172644792 2588327 3 981976 4258781 0 0 0 0 0 0\n",
  "proc/self/mountinfo": "",
  "proc/1/net/dev": `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 311432293  199918    0    0    0     0          0         0 311432293  199918    0    0    0     0       0          0
  eth0: 1305020125   56499    1    2    0     0          0         0  4218416   42341    3    4    0     0       0          0
vethab: 7 7 7 7 0 0 0 0 7 7 7 7 0 0 0 0
`,
  "proc/1/limits":
    "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            unlimited            1048576              files     \n",
  "proc/42/limits":
    "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            20000                1048576              files     \n",
  "proc/42/net/dev": "a\nb\n  eth0: 10 2 0 0 0 0 0 0 20 4 0 0 0 0 0 0\n",
};

type Files = Readonly<Record<string, string>>;

/** A recorded machine below a directory; process 42 has a file and a socket open. */
function tree(files: Files): string {
  trees += 1;
  const root = join(scratch, String(trees));
  for (const [path, content] of Object.entries({ ...MACHINE, ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  mkdirSync(join(root, "proc/42/fd"), { recursive: true });
  symlinkSync("/dev/null", join(root, "proc/42/fd/0"));
  symlinkSync("socket:[123]", join(root, "proc/42/fd/1"));
  return root;
}

/** A cgroup is as old as its oldest file. */
const born = (root: string, path: string) => utimesSync(join(root, path), CREATED_S, CREATED_S);

const ask = (question: Partial<StatsQuestion>): StatsQuestion => ({
  detail: "everything",
  groups: ["/kubepods"],
  sandboxes: new Set(),
  filesystems: [],
  files: [],
  ...question,
});

const read = (
  root: string,
  question: Partial<StatsQuestion> = {},
  createdAt = new RecentMap<string, CgroupCreation>(100),
): StatsReading => {
  const groups: CgroupStats[] = [];
  const roots = { root, clock: { wallMs: () => NOW_MS }, createdAt };
  return { ...readStats(ask(question), roots, (stats) => groups.push(stats)), groups };
};

const IO_STAT = "254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n";
const V2_STAT =
  "anon 57344\nfile 27271168\nkernel 421888\nfile_mapped 12\ninactive_file 6291456\nactive_file 8192\npgfault 2013\npgmajfault 3\n";
const v2Group = (path: string, more: Files = {}): Files => ({
  [`sys/fs/cgroup${path}/cgroup.events`]: "populated 1\n",
  [`sys/fs/cgroup${path}/cgroup.procs`]: "42\n",
  [`sys/fs/cgroup${path}/cpu.stat`]:
    "usage_usec 62708\nuser_usec 40000\nsystem_usec 22708\nnr_periods 12\nnr_throttled 11\nthrottled_usec 900\nnr_bursts 2\nburst_usec 30\n",
  [`sys/fs/cgroup${path}/cpu.weight`]: "79\n",
  [`sys/fs/cgroup${path}/cpu.max`]: "5000 100000\n",
  [`sys/fs/cgroup${path}/cpu.pressure`]:
    "some avg10=1.50 avg60=0.30 avg300=0.10 total=777\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=55\n",
  [`sys/fs/cgroup${path}/memory.stat`]: V2_STAT,
  [`sys/fs/cgroup${path}/memory.current`]: "27779072\n",
  [`sys/fs/cgroup${path}/memory.peak`]: "31338496\n",
  [`sys/fs/cgroup${path}/memory.max`]: "104857600\n",
  [`sys/fs/cgroup${path}/memory.min`]: "4096\n",
  [`sys/fs/cgroup${path}/memory.swap.current`]: "8192\n",
  [`sys/fs/cgroup${path}/memory.swap.max`]: "max\n",
  [`sys/fs/cgroup${path}/memory.events`]: "low 0\nhigh 0\nmax 3\noom 2\noom_kill 9\n",
  [`sys/fs/cgroup${path}/memory.events.local`]: "low 0\nhigh 0\nmax 3\noom 2\noom_kill 1\n",
  [`sys/fs/cgroup${path}/pids.current`]: "5\n",
  [`sys/fs/cgroup${path}/pids.max`]: "max\n",
  [`sys/fs/cgroup${path}/io.stat`]: IO_STAT,
  ...more,
});

void suite("stats of cgroup v2", () => {
  const files: Files = {
    "proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
    "sys/fs/cgroup/cgroup.events": "",
    "sys/fs/cgroup/cgroup.procs": "1\n7\n",
    "sys/fs/cgroup/cpu.stat": "usage_usec 1000\nuser_usec 600\nsystem_usec 400\n",
    "sys/fs/cgroup/cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
    "sys/fs/cgroup/memory.stat": V2_STAT,
    "sys/fs/cgroup/io.stat": "",
    ...v2Group("/kubepods"),
    ...Object.fromEntries(BETWEEN.map((path) => [`sys/fs/cgroup${path}/io.stat`, IO_STAT])),
    ...v2Group(CONTAINER),
  };

  test("[21.5][21.2] container stats are read from the cgroup's files and converted to the reported units", () => {
    const root = tree(files);
    born(root, `sys/fs/cgroup${CONTAINER}/cgroup.events`);
    const group = read(root, { sandboxes: new Set([ID]) }).groups.find(({ id }) => id === CONTAINER);
    assert.deepEqual(group, {
      id: CONTAINER,
      readWallMs: NOW_MS,
      createdWallMs: CREATED_S * 1000,
      cpu: {
        usageNs: 62_708_000,
        userNs: 40_000_000,
        systemNs: 22_708_000,
        periods: 12,
        throttledPeriods: 11,
        throttledNs: 900_000,
        burstPeriods: 2,
        burstNs: 30_000,
        shares: 2046,
        periodUs: 100_000,
        quotaUs: 5_000,
        pressure: {
          full: { totalUs: 55, avg10: 0, avg60: 0, avg300: 0 },
          some: { totalUs: 777, avg10: 1.5, avg60: 0.3, avg300: 0.1 },
        },
      },
      memory: {
        usageBytes: 27_779_072,
        peakBytes: 31_338_496,
        failures: 0,
        kernelBytes: 0,
        cacheBytes: 27_271_168,
        rssBytes: 57_344,
        swapBytes: 8_192,
        mappedBytes: 12,
        activeFileBytes: 8_192,
        inactiveFileBytes: 6_291_456,
        pageFaults: 2_013,
        majorPageFaults: 3,
        oomKills: 1,
        limitBytes: 104_857_600,
        swapLimitBytes: Infinity,
        reservationBytes: 4_096,
      },
      io: {
        devices: [
          {
            major: 254,
            minor: 0,
            device: "/dev/vda",
            bytes: { Read: 4096, Write: 8192 },
            requests: { Read: 1, Write: 2 },
          },
        ],
      },
      processes: { processes: 1, openFiles: 2, sockets: 1, threads: 5, threadsMax: 0, openFilesMax: 20_000 },
      network: [
        {
          name: "eth0",
          rxBytes: 10,
          rxPackets: 2,
          rxErrors: 0,
          rxDropped: 0,
          txBytes: 20,
          txPackets: 4,
          txErrors: 0,
          txDropped: 0,
        },
      ],
    });
  });

  test("[21.2] root cgroup memory usage is anonymous plus file memory, limited by the machine's memory and swap", () => {
    const machine = read(tree(files)).groups[0];
    assert.equal(machine?.id, "/");
    assert.deepEqual(
      [
        machine.memory?.usageBytes,
        machine.memory?.limitBytes,
        machine.memory?.swapBytes,
        machine.memory?.swapLimitBytes,
      ],
      [57_344 + 27_271_168, 1_024_000, 30 * 1024, 50 * 1024],
    );
    assert.deepEqual(
      machine.network?.map(({ name, rxErrors, txDropped }) => [name, rxErrors, txDropped]),
      [["eth0", 1, 4]],
    );
    assert.deepEqual(machine.processes, {
      processes: 2,
      openFiles: 0,
      sockets: 0,
      threads: 2,
      threadsMax: 0,
      openFilesMax: -1,
    });
  });

  test("I/O stats below a cgroup without I/O are not read", () => {
    const root = tree({ ...files, [`sys/fs/cgroup${POD}/io.stat`]: "" });
    const io = (group: string) => read(root).groups.find(({ id }) => id === group)?.io?.devices.length;
    assert.deepEqual([io("/kubepods"), io(POD), io(CONTAINER)], [1, 0, 0]);
  });

  test("a cgroup's creation time is cached, and read again when the cgroup is recreated", () => {
    const root = tree(files);
    const createdAt = new RecentMap<string, CgroupCreation>(100);
    const path = join(root, `sys/fs/cgroup${CONTAINER}`);
    const createdS = () => {
      const { groups } = read(root, {}, createdAt);
      return (groups.find(({ id }) => id === CONTAINER)?.createdWallMs ?? 0) / 1000;
    };
    born(root, `sys/fs/cgroup${CONTAINER}/cgroup.events`);
    assert.equal(createdS(), CREATED_S);
    utimesSync(join(path, "cgroup.events"), CREATED_S + 100, CREATED_S + 100);
    assert.equal(createdS(), CREATED_S);
    cpSync(path, `${path}.new`, { recursive: true });
    rmSync(path, { recursive: true });
    renameSync(`${path}.new`, path);
    utimesSync(join(path, "cgroup.events"), CREATED_S + 100, CREATED_S + 100);
    assert.equal(createdS(), CREATED_S + 100);
  });

  test("a cgroup without controllers or pressure files has no such stats", () => {
    const root = tree({ ...files, [`sys/fs/cgroup${POD}/bare/cgroup.events`]: "" });
    const reading = read(root);
    const bare = reading.groups.find(({ id }) => id === `${POD}/bare`);
    assert.deepEqual([bare?.cpu, bare?.memory, bare?.io?.pressure], [undefined, undefined, undefined]);
    assert.equal(reading.knowsPressure, true);
    const { "sys/fs/cgroup/cpu.pressure": _, ...without } = files;
    assert.equal(read(tree(without)).knowsPressure, false);
  });

  test("[14.12] CPU, memory and I/O pressure are read for a container's cgroup and for the machine", () => {
    const pressure = (some: number, full: number) =>
      `some avg10=1.00 avg60=2.00 avg300=3.00 total=${some}\nfull avg10=0.10 avg60=0.20 avg300=0.30 total=${full}\n`;
    const line = (totalUs: number, part: number) => ({ totalUs, avg10: part, avg60: 2 * part, avg300: 3 * part });
    const more = Object.fromEntries(
      ["", CONTAINER].flatMap((path, index) => [
        [`sys/fs/cgroup${path}/cpu.pressure`, pressure(10 + index, 1)],
        [`sys/fs/cgroup${path}/memory.pressure`, pressure(20 + index, 2)],
        [`sys/fs/cgroup${path}/io.pressure`, pressure(30 + index, 3)],
      ]),
    ) as Files;
    const { groups } = read(tree({ ...files, ...more }));
    for (const [index, id] of ["/", CONTAINER].entries()) {
      const group = groups.find((one) => one.id === id);
      const reported = [group?.cpu?.pressure, group?.memory?.pressure, group?.io?.pressure];
      assert.deepEqual(
        reported.map((stats) => stats?.some),
        [10, 20, 30].map((total) => line(total + index, 1)),
      );
      assert.deepEqual(
        reported.map((stats) => stats?.full.totalUs),
        [1, 2, 3],
      );
      assert.deepEqual([reported[0]?.full.avg10, reported[2]?.full.avg300], [0.1, 0.3]);
    }
  });

  test('detail "usage" reads only CPU and memory', () => {
    const group = read(tree(files), { detail: "usage" }).groups.find(({ id }) => id === CONTAINER);
    assert.deepEqual(Object.keys(group ?? {}), ["id", "readWallMs", "createdWallMs", "cpu", "memory"]);
    assert.equal(group?.cpu?.pressure, undefined);
  });
});

const CONTROLLERS = ["cpu", "cpuacct", "memory", "pids", "blkio"] as const;

const SERVICED = "blkio.throttle.io_serviced_recursive";
const MOVED = "254:0 Read 1\n254:0 Write 2\n254:0 Total 3\n9:9 Read 7\nTotal 10\n";

const v1Group = (path: string): Files => {
  const at = (controller: string, file: string) => `sys/fs/cgroup/${controller}${path}/${file}`;
  return {
    ...Object.fromEntries(CONTROLLERS.map((name) => [at(name, "cgroup.clone_children"), "0\n"])),
    [at("cpu", "cgroup.procs")]: "42\n43\n",
    [at("cpu", "cpu.shares")]: "20\n",
    [at("cpu", "cpu.cfs_period_us")]: "100000\n",
    [at("cpu", "cpu.cfs_quota_us")]: "5000\n",
    [at("cpu", "cpu.stat")]:
      "nr_periods 1789\nnr_throttled 1788\nthrottled_time 166471618908\nnr_bursts 0\nburst_time 0\n",
    [at("cpuacct", "cpuacct.usage")]: "62708933\n",
    [at("cpuacct", "cpuacct.stat")]: "user 4\nsystem 2\n",
    [at("memory", "memory.stat")]:
      "cache 1\nrss 2\npgfault 2013\npgmajfault 3\nhierarchical_memory_limit 104857600\ntotal_cache 27271168\ntotal_rss 57344\ntotal_swap 0\ntotal_mapped_file 12\ntotal_pgfault 5000\ntotal_inactive_file 6291456\ntotal_active_file 8192\n",
    [at("memory", "memory.usage_in_bytes")]: "27779072\n",
    [at("memory", "memory.max_usage_in_bytes")]: "31338496\n",
    [at("memory", "memory.failcnt")]: "4\n",
    [at("memory", "memory.kmem.usage_in_bytes")]: "421888\n",
    [at("memory", "memory.limit_in_bytes")]: "104857600\n",
    [at("memory", "memory.memsw.limit_in_bytes")]: "9223372036854771712\n",
    [at("memory", "memory.soft_limit_in_bytes")]: "9223372036854771712\n",
    [at("memory", "memory.oom_control")]: "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
    [at("pids", "pids.current")]: "5\n",
    [at("pids", "pids.max")]: "1024\n",
    [at("blkio", "blkio.bfq.io_serviced_recursive")]: "Total 0\n",
    [at("blkio", "blkio.bfq.io_service_bytes_recursive")]: "Total 0\n",
    [at("blkio", SERVICED)]: MOVED,
    [at("blkio", "blkio.throttle.io_service_bytes_recursive")]:
      "254:0 Read 4096\n254:0 Write 8192\n254:0 Total 12288\nTotal 12288\n",
  };
};

void suite("stats of cgroup v1", () => {
  const files: Files = {
    "proc/self/mounts": CONTROLLERS.map((name) => `cgroup /sys/fs/cgroup/${name} cgroup rw,${name} 0 0\n`).join(""),
    ...v1Group(""),
    ...v1Group("/kubepods"),
    ...Object.fromEntries(BETWEEN.map((path) => [`sys/fs/cgroup/blkio${path}/${SERVICED}`, MOVED])),
    ...v1Group(CONTAINER),
  };

  test("[21.5] container stats are read from the cgroup's files: own page faults, all else including descendants", () => {
    const root = tree(files);
    born(root, `sys/fs/cgroup/cpu${CONTAINER}/cgroup.clone_children`);
    const group = read(root).groups.find(({ id }) => id === CONTAINER);
    assert.deepEqual(group, {
      id: CONTAINER,
      readWallMs: NOW_MS,
      createdWallMs: CREATED_S * 1000,
      cpu: {
        usageNs: 62_708_933,
        userNs: 40_000_000,
        systemNs: 20_000_000,
        periods: 1_789,
        throttledPeriods: 1_788,
        throttledNs: 166_471_618_908,
        burstPeriods: 0,
        burstNs: 0,
        shares: 20,
        periodUs: 100_000,
        quotaUs: 5_000,
      },
      memory: {
        usageBytes: 27_779_072,
        peakBytes: 31_338_496,
        failures: 4,
        kernelBytes: 421_888,
        cacheBytes: 27_271_168,
        rssBytes: 57_344,
        swapBytes: 0,
        mappedBytes: 12,
        activeFileBytes: 8_192,
        inactiveFileBytes: 6_291_456,
        pageFaults: 2_013,
        majorPageFaults: 3,
        oomKills: 2,
        limitBytes: 104_857_600,
        swapLimitBytes: Infinity,
        reservationBytes: Infinity,
      },
      io: {
        devices: [
          {
            major: 254,
            minor: 0,
            device: "/dev/vda",
            bytes: { Read: 4096, Write: 8192, Total: 12_288 },
            requests: { Read: 1, Write: 2, Total: 3 },
          },
          { major: 9, minor: 9, device: "", bytes: {}, requests: { Read: 7 } },
        ],
      },
      processes: { processes: 2, openFiles: 2, sockets: 1, threads: 5, threadsMax: 1_024, openFilesMax: 20_000 },
    });
  });

  test("the root cgroup counts processes, not threads; a cgroup without processes has no open file limit", () => {
    const { groups } = read(tree(files));
    const of = (name: string) => groups.find(({ id }) => id === name)?.processes;
    assert.deepEqual([of("/")?.threads, of("/")?.processes, of("/")?.openFilesMax], [0, 2, -1]);
    assert.equal(of("/kubepods")?.openFilesMax, undefined);
  });
});

void test("filesystems of the machine are listed once; pod tmpfs mounts, runtime mounts and NFS are left out", () => {
  const mount = (path: string, type: string, source: string, device = "0:5") =>
    `30 20 ${device} / ${path} rw - ${type} ${source} rw\n`;
  const mountinfo = [
    mount("/", "ext4", "/dev/vda", "254:0"),
    mount("/also", "ext4", "/dev/vda", "254:0"),
    mount("/run", "tmpfs", "tmpfs"),
    mount("/nfs", "nfs4", "server:/x"),
    mount("/proc", "proc", "proc"),
    mount("/var/lib/kubelet/pods/1/volumes/kubernetes.io~projected/t", "tmpfs", "tmpfs"),
    mount(`/run/containerd/io.containerd.grpc.v1.cri/sandboxes/${ID}/shm`, "tmpfs", "shm"),
    mount(`/run/containerd/io.containerd.runtime.v2.task/k8s.io/${ID}/rootfs`, "overlay", "overlay"),
  ].join("");
  const root = tree({
    "proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
    "sys/fs/cgroup/cgroup.events": "",
    "proc/self/mountinfo": mountinfo,
  });
  const { mounts } = read(root, { groups: [] });
  assert.deepEqual(
    mounts.map(({ device }) => device),
    ["/dev/vda", "/run"],
  );
  assert.deepEqual(mounts[0]?.disk, {
    reads: 618_124,
    readsMerged: 55_693,
    sectorsRead: 18_269_442,
    readMs: 841_749,
    writes: 5_919_376,
    writesMerged: 1_712_047,
    sectorsWritten: 172_644_792,
    writeMs: 2_588_327,
    inProgress: 3,
    ioMs: 981_976,
    weightedIoMs: 4_258_781,
  });
});
