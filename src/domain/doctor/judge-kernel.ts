/** Judges cgroups, swap, and kernel settings. */
import type { CgroupDriver } from "../runtime/runtime-info.ts";
import type { CgroupsSeen, HostFacts, KernelSeen, KernelSetting } from "./facts.ts";
import { type Finding, type Findings, finding, seenOf, unseen } from "./finding.ts";

export function* judgeCgroups({ cgroups, runtime }: HostFacts): Findings {
  const { configured, systemd, tree: probed }: CgroupsSeen = cgroups;
  yield* unseen({ "control groups": probed, "whether systemd runs this machine": systemd });
  if (runtime.answer.kind === "answers") yield* unseen({ "the runtime's cgroup driver": runtime.driver });
  const tree = seenOf(probed);
  if (probed.kind === "seen" && tree === undefined)
    yield finding("cgroup-missing", "nothing is mounted below /sys/fs/cgroup");
  if (tree?.version === 1) yield finding("cgroup-v1", "/sys/fs/cgroup is of version 1");
  if (tree?.readOnly === true) yield finding("cgroup-read-only", "/sys/fs/cgroup is mounted read-only");
  const needed = tree?.version === 1 ? ["cpu", "cpuacct", "cpuset", "memory"] : ["cpu", "cpuset", "memory"];
  const missing = tree === undefined ? [] : needed.filter((name) => !tree.controllers.includes(name));
  if (missing.length > 0)
    yield finding("cgroup-controller-missing", `there is no controller for ${missing.join(", ")}`);
  if (tree !== undefined && !tree.controllers.includes("pids"))
    yield finding("cgroup-pids-missing", "there is no controller for pids");
  const ofRuntime = seenOf(runtime.driver);
  const used = ofRuntime ?? runtime.driverOfSettings ?? configured;
  if (used !== configured) yield disagreement(configured, used, ofRuntime !== undefined);
  if (systemd.kind === "unseen") return;
  if (used === "systemd" && !systemd.value)
    yield finding("cgroup-driver-without-systemd", "the driver is systemd and there is no /run/systemd/system");
  if (used === "cgroupfs" && systemd.value)
    yield finding("cgroupfs-under-systemd", "the driver is cgroupfs and there is /run/systemd/system");
}

const disagreement = (configured: CgroupDriver, used: CgroupDriver, wasAsked: boolean): Finding =>
  finding(
    wasAsked ? "cgroup-driver-overridden" : "cgroup-driver-unagreed",
    `the configuration says ${configured}, the runtime says ${used}`,
  );

export function* judgeSwap({ failsOn, devices }: HostFacts["swap"]): Findings {
  yield* unseen({ swap: devices });
  const names = seenOf(devices) ?? [];
  if (failsOn && names.length > 0) yield finding("swap-on", `swap is on: ${names.join(", ")}`);
}

const INSTANCES_MIN = 128;
const WATCHES_MIN = 8_192;
const PIDS_MIN = 32_768;

export function* judgeKernel({ kernel, cgroups, runtime, network, node }: HostFacts): Findings {
  const { release, protect, mayFail, tunables, settings, fileSystems, messages }: KernelSeen = kernel;
  yield* unseen({
    "the kernel's release and the machine's id": release,
    "kernel settings": settings,
    "file systems of the kernel": fileSystems,
  });
  yield* unseen({ "kernel settings of the agent's": tunables });
  const needed = seenOf(cgroups.tree)?.version === 1 ? ([4, 19] as const) : ([5, 8] as const);
  if (release.kind === "seen" && isOlder(release.value, needed))
    yield finding("kernel-old", `the kernel is ${release.value}`);
  for (const tunable of seenOf(tunables) ?? []) {
    const { name, value, wanted, writable } = tunable;
    if (value === wanted) continue;
    const seen = `${name} is ${value ?? "not there"}, and is to be ${wanted}`;
    if (protect) yield finding("kernel-setting-wrong", seen);
    else if (!writable && !mayFail) yield finding("kernel-setting-locked", seen);
  }
  const there = seenOf(settings);
  if (there !== undefined) {
    yield* judgeForwarding(there, node.ipv6);
    yield* judgeLimits(there);
    if (network.configured !== undefined) yield* judgeBridge(there, seenOf(network.configured.configuration)?.plugins);
  }
  const known = seenOf(fileSystems);
  if (known !== undefined && !known.includes("overlay") && !isWithoutOverlay(runtime.imageDirectory))
    yield finding("overlay-missing", "/proc/filesystems does not name overlay");
  if (messages?.kind === "unseen") yield finding("kmsg-unreadable", messages.why);
}

/** Returns false for a version that is not numeric. */
function isOlder(version: string, [major, minor]: readonly [number, number]): boolean {
  const match = /^v?(\d+)\.(\d+)/.exec(version);
  if (match === null) return false;
  const [has, hasMinor] = [Number(match[1]), Number(match[2])];
  return has < major || (has === major && hasMinor < minor);
}

/**
 * Runtimes name the directory after the snapshotter or storage driver: "io.containerd.snapshotter.v1.btrfs",
 * "zfs-images".
 */
const isWithoutOverlay = (imageDirectory: string | undefined) =>
  /[./](?:btrfs|zfs|native|devmapper|blockfile|vfs)(?:-images)?$/.test(imageDirectory ?? "");

const valueOf = (settings: readonly KernelSetting[], name: string) =>
  settings.find((setting) => setting.name === name)?.value;

function* judgeForwarding(settings: readonly KernelSetting[], ipv6: boolean): Findings {
  const reported = (name: string) => `${name} is ${valueOf(settings, name) ?? "not there"}`;
  if (valueOf(settings, "net.ipv4.ip_forward") !== "1")
    yield finding("ip-forward-off", reported("net.ipv4.ip_forward"));
  const v6 = "net.ipv6.conf.all.forwarding";
  if (ipv6 && valueOf(settings, v6) !== "1") yield finding("ipv6-forward-off", reported(v6));
}

function* judgeLimits(settings: readonly KernelSetting[]): Findings {
  const isBelow = (name: string, min: number) => {
    const value = valueOf(settings, name);
    return value !== undefined && Number(value) < min;
  };
  const limits = [
    ["inotify-low", "fs.inotify.max_user_instances", INSTANCES_MIN],
    ["inotify-low", "fs.inotify.max_user_watches", WATCHES_MIN],
    ["pid-max-low", "kernel.pid_max", PIDS_MIN],
  ] as const;
  for (const [name, setting, min] of limits)
    if (isBelow(setting, min)) yield finding(name, `${setting} is ${valueOf(settings, setting)}, less than ${min}`);
}

/** Only where pods are on a bridge, or may be later: other networks have no bridge. */
function* judgeBridge(
  settings: readonly KernelSetting[],
  plugins: readonly string[] | { readonly fault: string } | undefined,
): Findings {
  const isElsewhere = Array.isArray(plugins) && !plugins.some((plugin) => plugin === "bridge" || plugin === "flannel");
  const name = "net.bridge.bridge-nf-call-iptables";
  const value = valueOf(settings, name);
  if (isElsewhere || value === "1") return;
  yield finding("bridge-netfilter-off", value === undefined ? "br_netfilter is not loaded" : `${name} is ${value}`);
}
