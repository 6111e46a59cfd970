import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { diagnose } from "./diagnose.ts";
import type { AgentProcess, DiskSeen, HostFacts, KernelSetting, PairSeen } from "./facts.ts";
import { FINDING_NAMES, FINDINGS, type FindingName, type Probed } from "./finding.ts";
import { diagnosisJson, diagnosisText, exitCodeOf, type FailOn } from "./show.ts";

const NOW = Date.UTC(2026, 5, 1);
const DAY = 86_400_000;
const GIB = 1n << 30n;

const seen = <T>(value: T): Probed<T> => ({ kind: "seen", value });
const unseen = { kind: "unseen", why: "EACCES" } as const;

/** A certificate and key that are valid from one day to another, relative to now. */
const pair = (from: number, to: number, user = "system:node:n1", keyFits = true): PairSeen => ({
  kind: "there",
  where: "/pki/a.pem",
  chain: [
    {
      subject: { commonName: user, organizations: [] },
      notBeforeWallMs: NOW + from * DAY,
      notAfterWallMs: NOW + to * DAY,
    },
  ],
  keyFits,
});

const bundle: PairSeen = {
  kind: "there",
  where: "/ca",
  chain: [pair(-9, -1, "old-ca"), pair(-1, 9, "new-ca")].flatMap((each) => (each.kind === "there" ? each.chain : [])),
  keyFits: true,
};

const setting = (name: string, value: string | undefined): KernelSetting => ({ name, value, writable: true });

const DISK: DiskSeen = {
  use: "agent",
  path: "/var/lib/kubelet",
  room: seen({ availableBytes: 50n * GIB, capacityBytes: 100n * GIB, inodes: 1_000_000n, inodesFree: 900_000n }),
  writeTrouble: seen(undefined),
  bytesMin: { kind: "share", share: 0.1 },
  inodesMin: { kind: "amount", amount: 50_000n },
};

const SETTINGS = [
  setting("net.ipv4.ip_forward", "1"),
  setting("net.ipv6.conf.all.forwarding", "0"),
  setting("net.bridge.bridge-nf-call-iptables", "1"),
  setting("fs.inotify.max_user_instances", "128"),
  setting("fs.inotify.max_user_watches", "65536"),
  setting("kernel.pid_max", "4194304"),
];

const programs = (...names: readonly string[]) => ({ directories: ["/opt/cni/bin"], found: seen(names) });
const configuredBy = (configuration: NonNullable<HostFacts["network"]["configured"]>["configuration"]) => ({
  configured: { directory: "/etc/cni/net.d", configuration },
});

const SOUND: HostFacts = {
  nowWallMs: NOW,
  uid: 0,
  configuration: { refused: undefined, lenient: undefined, warnings: [], notImplemented: [], access: undefined },
  node: { name: "n1", standalone: false, addressTrouble: seen(undefined), ipv6: false },
  runtime: {
    endpoint: "unix:///run/containerd/containerd.sock",
    answer: { kind: "answers", version: { name: "containerd", version: "v2.2.0", apiVersion: "v1" } },
    conditions: seen([
      { type: "RuntimeReady", status: true, reason: "", message: "" },
      { type: "NetworkReady", status: true, reason: "", message: "" },
    ]),
    driver: seen("systemd"),
    driverOfSettings: "systemd",
    imageDirectory: "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs",
    imageTrouble: undefined,
  },
  network: {
    configured: {
      directory: "/etc/cni/net.d",
      configuration: seen({ file: "/etc/cni/net.d/10-bridge.conflist", plugins: ["bridge", "host-local", "portmap"] }),
    },
    programs: programs("bridge", "host-local", "loopback", "portmap"),
    needsLoopback: true,
  },
  cgroups: {
    configured: "systemd",
    systemd: seen(true),
    tree: seen({ version: 2, controllers: ["cpuset", "cpu", "io", "memory", "pids"], readOnly: false }),
  },
  swap: { failsOn: true, devices: seen([]) },
  kernel: {
    release: seen("6.1.0-28-amd64"),
    protect: false,
    mayFail: false,
    tunables: seen([{ ...setting("vm.overcommit_memory", "0"), wanted: "1" }]),
    settings: seen(SETTINGS),
    fileSystems: seen(["ext4", "overlay"]),
    messages: seen(true),
  },
  ports: {
    wanted: [
      { use: "the node's own API", address: "0.0.0.0", port: 10_250 },
      { use: "healthz", address: "127.0.0.1", port: 10_248 },
    ],
    listeners: seen([{ address: "0.0.0.0", port: 22, process: { pid: 7, command: "sshd" } }]),
    agents: seen([]),
  },
  identity: {
    kubeconfigTrouble: undefined,
    bootstrapTrouble: undefined,
    rotates: true,
    client: pair(-100, 265),
    serving: { kind: "absent" },
    servingRotates: false,
    clientCa: pair(-1000, 2650, "kubernetes"),
  },
  api: {
    kind: "answers",
    url: "https://192.0.2.1:6443",
    status: 200,
    message: "",
    version: { major: 1, minor: 36 },
    aheadMs: 900,
    otherMachine: undefined,
  },
  disks: [DISK],
  resolver: { path: "/etc/resolv.conf", text: { kind: "text", text: "nameserver 192.0.2.53\nsearch a.example\n" } },
  programs: { wantsIptables: true, found: seen({ mount: true, umount: true, flock: true, iptables: true }) },
};

const changed = {
  configuration: (to: Partial<HostFacts["configuration"]>) => ({
    ...SOUND,
    configuration: { ...SOUND.configuration, ...to },
  }),
  node: (to: Partial<HostFacts["node"]>) => ({ ...SOUND, node: { ...SOUND.node, ...to } }),
  runtime: (to: Partial<HostFacts["runtime"]>) => ({ ...SOUND, runtime: { ...SOUND.runtime, ...to } }),
  network: (to: Partial<HostFacts["network"]>) => ({ ...SOUND, network: { ...SOUND.network, ...to } }),
  cgroups: (to: Partial<HostFacts["cgroups"]>) => ({ ...SOUND, cgroups: { ...SOUND.cgroups, ...to } }),
  kernel: (to: Partial<HostFacts["kernel"]>) => ({ ...SOUND, kernel: { ...SOUND.kernel, ...to } }),
  identity: (to: Partial<HostFacts["identity"]>) => ({ ...SOUND, identity: { ...SOUND.identity, ...to } }),
  ports: (to: Partial<HostFacts["ports"]>) => ({ ...SOUND, ports: { ...SOUND.ports, ...to } }),
  api: (to: Partial<Extract<HostFacts["api"], { kind: "answers" }>>) => ({
    ...SOUND,
    api: { ...SOUND.api, ...to } as HostFacts["api"],
  }),
  disk: (to: Partial<DiskSeen>) => ({ ...SOUND, disks: [{ ...DISK, ...to }] }),
  room: (to: object) => ({
    ...SOUND,
    disks: [{ ...DISK, room: seen({ ...(DISK.room as { readonly value: object }).value, ...to }) } as DiskSeen],
  }),
  resolver: (text: string) => ({ ...SOUND, resolver: { path: "/r", text: { kind: "text", text } } as const }),
  sysctl: (name: string, value: string | undefined) => ({
    ...SOUND,
    kernel: {
      ...SOUND.kernel,
      settings: seen([...SETTINGS.filter((each) => each.name !== name), setting(name, value)]),
    },
  }),
  tree: (controllers: readonly string[], version: 1 | 2 = 2, readOnly = false) => ({
    ...SOUND,
    cgroups: { ...SOUND.cgroups, tree: seen({ version, controllers, readOnly }) },
  }),
};

const deckhand = (pid: number): AgentProcess => ({ pid, command: "deckhand kubelet", isDeckhand: true });
const answers = (name: string, version: string, apiVersion = "v1") =>
  ({ kind: "answers", version: { name, version, apiVersion } }) as const;
const notReady = (type: string) =>
  seen([{ type, status: false, reason: "Broken", message: "it is" }]) as HostFacts["runtime"]["conditions"];

/** The host, the expected findings, and what the first finding must say. */
const BROKEN: Readonly<Record<string, readonly [HostFacts, FindingName | readonly FindingName[], RegExp]>> = {
  "an invalid configuration file": [
    changed.configuration({ refused: "invalid configuration: maxPods" }),
    "configuration-refused",
    /maxPods/,
  ],
  "an invalid configuration file, without checks that depend on settings": [
    {
      ...changed.configuration({ refused: "invalid configuration: maxPods" }),
      node: { name: "my_host", standalone: true, addressTrouble: seen("can't get ip"), ipv6: true },
      runtime: {
        ...SOUND.runtime,
        answer: { kind: "silent", why: "refused" },
        driver: seen("cgroupfs"),
        imageDirectory: undefined,
        imageTrouble: { endpoint: "unix:///i.sock", why: "refused" },
      },
      network: { ...SOUND.network, ...configuredBy(seen(undefined)) },
      kernel: {
        ...SOUND.kernel,
        protect: true,
        settings: seen([...SETTINGS.slice(0, 2), ...SETTINGS.slice(3)]),
        fileSystems: seen(["ext4"]),
        messages: unseen,
      },
      swap: { failsOn: true, devices: seen(["/dev/sda2"]) },
      ports: {
        ...SOUND.ports,
        listeners: seen([{ address: "::", port: 10_250, process: { pid: 9, command: "nc" } }]),
      },
      disks: [{ ...DISK, writeTrouble: seen("EROFS"), room: unseen }],
      resolver: { path: "/r", text: { kind: "refused", why: "ENOENT" } },
      programs: { wantsIptables: true, found: seen({ iptables: false }) },
    },
    "configuration-refused",
    /maxPods/,
  ],
  "an invalid configuration file, with checks that hold for any settings": [
    {
      ...changed.configuration({ refused: "invalid configuration: maxPods" }),
      uid: 5,
      cgroups: { ...SOUND.cgroups, tree: seen(undefined) },
      kernel: { ...SOUND.kernel, release: unseen },
      programs: { wantsIptables: true, found: seen({ mount: false }) },
    },
    ["configuration-refused", "not-root", "cgroup-missing", "program-missing", "could-not-look"],
    /maxPods/,
  ],
  "an unknown field in the configuration": [
    changed.configuration({ lenient: 'unknown field "maxPod"' }),
    "configuration-lenient",
    /"maxPod"/,
  ],
  "a feature that is not implemented": [
    changed.configuration({ notImplemented: ["the CPU manager (cpuManagerPolicy): none"] }),
    "feature-not-implemented",
    /the CPU manager/,
  ],
  "a setting without effect": [changed.configuration({ warnings: ["--x is set"] }), "configuration-warning", /--x/],
  "a missing authentication method": [
    changed.configuration({ access: "no authentication method configured" }),
    "access-refused",
    /no auth/,
  ],
  "a run as an ordinary user": [{ ...SOUND, uid: 1000 }, "not-root", /1000/],
  "a missing --kubeconfig": [changed.node({ standalone: true }), "standalone", /--kubeconfig/],
  "a host name with an underscore": [
    { ...changed.node({ name: "my_host" }), identity: { ...SOUND.identity, client: { kind: "absent" } } },
    "node-name-invalid",
    /my_host/,
  ],
  "an unusable node address": [
    changed.node({ addressTrouble: seen("can't get ip") }),
    "node-address-unusable",
    /can't get ip/,
  ],
  "a node address that cannot be determined": [
    changed.node({ addressTrouble: unseen }),
    "could-not-look",
    /address: EACCES/,
  ],
  "a certificate of another node": [
    changed.identity({ client: pair(-100, 265, "system:node:n2") }),
    "node-name-not-ours",
    /system:node:n2.* n1/,
  ],

  "a runtime that is down": [
    changed.runtime({ answer: { kind: "silent", why: "connect ENOENT" } }),
    "runtime-unreachable",
    /containerd.sock: connect ENOENT/,
  ],
  "a runtime that is down, without judging its CNI configuration": [
    {
      ...changed.network(configuredBy(seen(undefined))),
      runtime: { ...SOUND.runtime, answer: { kind: "silent", why: "refused" } },
    },
    "runtime-unreachable",
    /refused/,
  ],
  "containerd without CRI": [
    changed.runtime({ answer: { kind: "noCri", why: "unknown service runtime.v1.RuntimeService" } }),
    "runtime-without-cri",
    /unknown service/,
  ],
  "CRI v1alpha2": [changed.runtime({ answer: answers("old", "1", "v1alpha2") }), "runtime-without-cri", /v1alpha2/],
  "containerd 1.7, which Kubernetes 1.36 still supports": [
    changed.runtime({ answer: answers("containerd", "1.7.24"), driver: seen(undefined) }),
    "runtime-old",
    /1\.7\.24 at .* does not know RuntimeConfig/,
  ],
  "a runtime that is not ready": [
    changed.runtime({ conditions: notReady("RuntimeReady") }),
    "runtime-not-ready",
    /Broken: it is/,
  ],
  "a network that is not ready": [
    changed.runtime({ conditions: notReady("NetworkReady") }),
    "network-not-ready",
    /NetworkReady is false/,
  ],
  "a runtime whose state cannot be read": [
    changed.runtime({ conditions: unseen }),
    "could-not-look",
    /runtime's state: EACCES/,
  ],
  "a separate image service that is down": [
    changed.runtime({ imageTrouble: { endpoint: "unix:///i.sock", why: "refused" } }),
    "image-service-unreachable",
    /i\.sock: refused/,
  ],
  "a missing CNI configuration, once": [
    {
      ...changed.network(configuredBy(seen(undefined))),
      runtime: { ...SOUND.runtime, conditions: notReady("NetworkReady") },
    },
    "cni-configuration-missing",
    /net\.d holds no/,
  ],
  "a network that is not ready, if the runtime names no CNI directory": [
    {
      ...changed.network({ configured: undefined, programs: undefined }),
      runtime: { ...SOUND.runtime, conditions: notReady("NetworkReady") },
    },
    "network-not-ready",
    /NetworkReady is false/,
  ],
  "a CNI configuration that is not JSON": [
    changed.network(configuredBy(seen({ file: "/etc/cni/net.d/0.conf", plugins: { fault: "no JSON" } }))),
    "cni-configuration-broken",
    /0\.conf: no JSON/,
  ],
  "CNI plug-ins that are not installed": [
    changed.network({ programs: programs("loopback", "portmap") }),
    ["cni-plugin-missing", "cni-plugin-missing"],
    /^bridge, needed by .*opt\/cni\/bin/,
  ],
  "a missing loopback plug-in for containerd": [
    changed.network({ programs: programs("bridge", "host-local", "portmap") }),
    "cni-plugin-missing",
    /^loopback/,
  ],
  "a CNI directory that cannot be read": [changed.network(configuredBy(unseen)), "could-not-look", /net\.d: EACCES/],

  "missing cgroups": [changed.cgroups({ tree: seen(undefined) }), "cgroup-missing", /sys\/fs\/cgroup/],
  "read-only cgroups": [changed.tree(["cpu", "cpuset", "memory", "pids"], 2, true), "cgroup-read-only", /read-only/],
  "a kernel without the memory controller": [
    changed.tree(["cpu", "cpuset", "pids"]),
    "cgroup-controller-missing",
    /for memory$/,
  ],
  "cgroup v1 without cpuacct": [
    changed.tree(["cpu", "cpuset", "memory", "pids"], 1),
    ["cgroup-controller-missing", "cgroup-v1"],
    /cpuacct/,
  ],
  "a kernel without the pids controller": [changed.tree(["cpu", "cpuset", "memory"]), "cgroup-pids-missing", /pids/],
  "a configured cgroup driver that the runtime overrides": [
    changed.cgroups({ configured: "cgroupfs" }),
    "cgroup-driver-overridden",
    /says cgroupfs, the runtime says systemd/,
  ],
  "a wrong cgroup driver with a runtime that does not report its own": [
    {
      ...changed.cgroups({ configured: "cgroupfs" }),
      runtime: { ...SOUND.runtime, driver: seen(undefined) },
    },
    ["cgroup-driver-unagreed", "runtime-old"],
    /says cgroupfs, the runtime says systemd/,
  ],
  "the systemd driver without systemd": [
    changed.cgroups({ systemd: seen(false) }),
    "cgroup-driver-without-systemd",
    /systemd/,
  ],
  "cgroupfs beside systemd": [
    {
      ...changed.cgroups({ configured: "cgroupfs" }),
      runtime: { ...SOUND.runtime, driver: seen("cgroupfs") },
    },
    "cgroupfs-under-systemd",
    /cgroupfs/,
  ],
  "enabled swap": [{ ...SOUND, swap: { failsOn: true, devices: seen(["/dev/sda2"]) } }, "swap-on", /sda2/],

  "an old kernel": [changed.kernel({ release: seen("4.18.0-553.el8") }), "kernel-old", /4\.18/],
  "wrong sysctls with protectKernelDefaults": [
    changed.kernel({ protect: true }),
    "kernel-setting-wrong",
    /vm\.overcommit_memory is 0, and is to be 1/,
  ],
  "sysctls that cannot be written": [
    changed.kernel({ tunables: seen([{ name: "kernel.panic", value: "0", wanted: "10", writable: false }]) }),
    "kernel-setting-locked",
    /kernel\.panic is 0/,
  ],
  "disabled IP forwarding": [changed.sysctl("net.ipv4.ip_forward", "0"), "ip-forward-off", /is 0/],
  "disabled IPv6 forwarding": [changed.node({ ipv6: true }), "ipv6-forward-off", /all\.forwarding is 0/],
  "br_netfilter that is not loaded": [
    changed.sysctl("net.bridge.bridge-nf-call-iptables", undefined),
    "bridge-netfilter-off",
    /not loaded/,
  ],
  "disabled bridge-nf-call-iptables": [
    changed.sysctl("net.bridge.bridge-nf-call-iptables", "0"),
    "bridge-netfilter-off",
    /is 0/,
  ],
  "a missing overlay file system": [changed.kernel({ fileSystems: seen(["ext4"]) }), "overlay-missing", /overlay/],
  "few inotify instances": [changed.sysctl("fs.inotify.max_user_instances", "16"), "inotify-low", /16/],
  "few inotify watches": [changed.sysctl("fs.inotify.max_user_watches", "1024"), "inotify-low", /1024/],
  "a low pid_max": [changed.sysctl("kernel.pid_max", "4096"), "pid-max-low", /4096/],
  "unreadable kernel messages": [changed.kernel({ messages: unseen }), "kmsg-unreadable", /EACCES/],

  "a kubelet port that is in use": [
    changed.ports({ listeners: seen([{ address: "::", port: 10_250, process: { pid: 9, command: "nc" } }]) }),
    "port-taken",
    /0\.0\.0\.0:10250, for the node's own API, is taken by pid 9 \(nc\)/,
  ],
  "a healthz port in use by a process that cannot be seen": [
    changed.ports({ listeners: seen([{ address: "127.0.0.1", port: 10_248, process: undefined }]) }),
    "port-taken",
    /cannot be seen/,
  ],
  "a running Go kubelet": [
    changed.ports({
      agents: seen([{ pid: 5, command: "/usr/bin/kubelet --config x", isDeckhand: false }]),
      listeners: seen([{ address: "::", port: 10_250, process: { pid: 5, command: "kubelet" } }]),
    }),
    "another-kubelet",
    /pid 5 \(\/usr\/bin\/kubelet/,
  ],
  "two agents": [changed.ports({ agents: seen([deckhand(5), deckhand(6)]) }), "second-agent", /pid 5 .* pid 6/],
  "a running agent": [changed.ports({ agents: seen([deckhand(5)]) }), "agent-running", /pid 5/],

  "an expired client certificate": [
    changed.identity({ client: pair(-365, -1) }),
    "client-certificate-expired",
    /ended on 2026-05-31 00:00Z/,
  ],
  "a client certificate that is not yet valid": [
    changed.identity({ client: pair(1, 365) }),
    "client-certificate-not-yet",
    /begins on 2026-06-02/,
  ],
  "a client certificate that is overdue for rotation": [
    changed.identity({ client: pair(-340, 25) }),
    "client-certificate-soon",
    /in 25 days/,
  ],
  "a client certificate that expires soon without rotation": [
    changed.identity({ rotates: false, client: pair(-338, 27) }),
    "client-certificate-soon",
    /in 27 days/,
  ],
  "a key that belongs to another client certificate": [
    changed.identity({ client: pair(-1, 364, "system:node:n1", false) }),
    "client-key-not-ours",
    /another certificate/,
  ],
  "a missing kubeconfig": [
    changed.identity({ kubeconfigTrouble: "no such file" }),
    "kubeconfig-refused",
    /no such file/,
  ],
  "a node that is about to join": [
    changed.identity({ kubeconfigTrouble: "no such file", bootstrapTrouble: { why: undefined } }),
    "bootstrap-needed",
    /no such file/,
  ],
  "a node that cannot join": [
    changed.identity({ kubeconfigTrouble: "no such file", bootstrapTrouble: { why: "no current-context" } }),
    "bootstrap-kubeconfig-refused",
    /no such file, and no current-context/,
  ],
  "an expired client certificate without a bootstrap kubeconfig": [
    changed.identity({ client: pair(-9, -1), bootstrapTrouble: { why: "open /b: no such file" } }),
    "client-certificate-expired",
    /ended on 2026-05-31 00:00Z, and open \/b: no such file/,
  ],
  "serving files without a certificate": [
    changed.identity({ serving: { kind: "refused", why: "no certificate in /c" } }),
    "serving-certificate-refused",
    /\/c/,
  ],
  "an expired serving certificate": [
    changed.identity({ serving: pair(-365, -1) }),
    "serving-certificate-expired",
    /ended/,
  ],
  "a serving certificate that is not yet valid": [
    changed.identity({ serving: pair(1, 2) }),
    "serving-certificate-not-yet",
    /begins/,
  ],
  "a serving certificate that expires in 24 hours": [
    changed.identity({ serving: pair(-364, 1) }),
    "serving-certificate-soon",
    /in 24 hours/,
  ],
  "a missing client CA file": [
    changed.identity({ clientCa: { kind: "refused", why: "open /ca: no such file" } }),
    "client-ca-refused",
    /\/ca/,
  ],
  "an expired client CA": [changed.identity({ clientCa: pair(-9, -1, "old-ca") }), "client-ca-expired", /old-ca/],
  "a clock in 1970": [
    { ...SOUND, nowWallMs: Date.UTC(1970, 0, 1, 0, 5), identity: { ...SOUND.identity, client: { kind: "absent" } } },
    "clock-unset",
    /1970-01-01 00:05Z/,
  ],
  "a clock that is behind": [changed.api({ aheadMs: 600_000 }), "clock-skewed", /10 minutes behind/],

  "an unreachable API server": [
    { ...SOUND, api: { kind: "silent", url: "https://a:1", why: "ECONNREFUSED" } },
    "api-unreachable",
    /a:1: ECONNREFUSED/,
  ],
  "an API server that answers 503": [
    changed.api({ status: 503, message: "etcd" }),
    "api-unreachable",
    /answered 503: etcd/,
  ],
  "credentials that the API server rejects": [
    changed.api({ status: 401, message: "Unauthorized" }),
    "api-unauthorized",
    /Unauth/,
  ],
  "a missing permission for its own Node": [
    changed.api({ status: 403, message: "forbidden" }),
    "api-forbidden",
    /forbidden/,
  ],
  "an API server older than the agent": [
    changed.api({ version: { major: 1, minor: 35 } }),
    "api-version-skew",
    /1\.35/,
  ],
  "an API server far newer than the agent": [
    changed.api({ version: { major: 1, minor: 40 } }),
    "api-version-skew",
    /1\.40/,
  ],
  "two machines with one node name": [changed.api({ otherMachine: "abc" }), "node-name-taken", /abc reports as n1/],

  "a full disk": [changed.room({ availableBytes: 0n }), "disk-full", /kubelet \(agent\) has 0 MiB of 102400 MiB/],
  "a disk that is nearly full": [
    changed.room({ availableBytes: GIB }),
    "disk-pressure",
    /1024 MiB of 102400 MiB left, less than 10240 MiB/,
  ],
  "a disk without free inodes": [changed.room({ inodesFree: 0n }), "inodes-gone", /0 of 1000000/],
  "a disk with few free inodes": [changed.room({ inodesFree: 9n }), "inodes-pressure", /less than 50000/],
  "a read-only directory": [changed.disk({ writeTrouble: seen("EROFS") }), "folder-unwritable", /EROFS/],
  "a disk whose usage cannot be read": [changed.disk({ room: unseen }), "could-not-look", /disk of .*: EACCES/],
  "a missing resolv.conf": [
    { ...SOUND, resolver: { path: "/r", text: { kind: "refused", why: "ENOENT" } } },
    "resolv-conf-refused",
    /\/r: ENOENT/,
  ],
  "an empty resolv.conf": [changed.resolver("# nothing\n"), "resolv-conf-empty", /no nameserver/],
  "systemd-resolved's stub in resolv.conf": [
    changed.resolver("nameserver 127.0.0.53\n"),
    "resolv-conf-loop",
    /127\.0\.0\.53/,
  ],
  "too many nameservers in resolv.conf": [
    changed.resolver([1, 2, 3, 4].map((n) => `nameserver 192.0.2.${n}\n`).join("")),
    "resolv-conf-long",
    /4 servers/,
  ],
  "a missing mount command": [
    { ...SOUND, programs: { wantsIptables: true, found: seen({ mount: false, iptables: true }) } },
    "program-missing",
    /no mount/,
  ],
  "a missing iptables command": [
    { ...SOUND, programs: { wantsIptables: true, found: seen({ iptables: false }) } },
    "iptables-missing",
    /no iptables/,
  ],
};

describe("doctor", () => {
  test("reports nothing on a sound host", () => {
    assert.deepEqual(diagnose(SOUND), []);
    assert.equal(diagnosisText([], true), "No problems found.\n");
    assert.equal(exitCodeOf([], "warning"), 0);
  });

  for (const [host, [facts, wanted, says]] of Object.entries(BROKEN)) {
    test(`reports ${host}`, () => {
      const found = diagnose(facts);
      assert.deepEqual(
        found.map(({ name }) => name),
        [wanted].flat(),
      );
      assert.match(found[0]?.seen ?? "", says);
    });
  }

  test("reports every finding in at least one of these cases", () => {
    const shown = new Set(Object.values(BROKEN).flatMap(([, wanted]) => wanted));
    assert.deepEqual(
      FINDING_NAMES.filter((name) => !shown.has(name)),
      [],
    );
  });
});

describe("doctor's advice", () => {
  test("for another-kubelet is to install Deckhand's package over it", () => {
    const { advice } = FINDINGS["another-kubelet"];
    assert.match(advice, /^install Deckhand's package over it/);
    assert.doesNotMatch(advice, /disable/, "the package starts no unit that is disabled");
  });

  for (const name of ["client-certificate-expired", "client-certificate-soon", "api-unauthorized"] as const) {
    test(`for ${name} is to issue a new client certificate or to join again`, () => {
      const { advice } = FINDINGS[name];
      assert.match(advice, /kubeadm kubeconfig user --org system:nodes --client-name system:node:/);
      assert.match(advice, /join again/);
      assert.doesNotMatch(advice, /certs renew/, "which renews those of the control plane alone");
    });
  }
});

/** Conditions that are not problems, though they might seem so. */
const SOUND_TOO: Readonly<Record<string, HostFacts>> = {
  "swap where it is allowed": { ...SOUND, swap: { failsOn: false, devices: seen(["/dev/sda2"]) } },
  "a missing br_netfilter without a bridge plug-in": {
    ...changed.sysctl("net.bridge.bridge-nf-call-iptables", undefined),
    network: {
      ...SOUND.network,
      ...configuredBy(seen({ file: "/c", plugins: ["cilium-cni"] })),
      programs: programs("cilium-cni", "loopback"),
    },
  },
  "CRI-O, which reports no CNI directories": {
    ...changed.sysctl("net.bridge.bridge-nf-call-iptables", undefined),
    runtime: { ...SOUND.runtime, answer: answers("cri-o", "1.30.1") },
    network: { configured: undefined, programs: undefined, needsLoopback: false },
  },
  "a runtime that sets up loopback itself": changed.network({
    programs: programs("bridge", "host-local", "portmap"),
    needsLoopback: false,
  }),
  "an old containerd that reports its cgroup driver": changed.runtime({ answer: answers("containerd", "1.7.24") }),
  "a missing overlay file system with images on btrfs": {
    ...changed.kernel({ fileSystems: seen(["btrfs"]) }),
    runtime: { ...SOUND.runtime, imageDirectory: "/var/lib/containerd/io.containerd.snapshotter.v1.btrfs" },
  },
  "a missing overlay file system with images on zfs": {
    ...changed.kernel({ fileSystems: seen(["zfs"]) }),
    runtime: { ...SOUND.runtime, imageDirectory: "/var/lib/containers/storage/zfs-images" },
  },
  "sysctls that cannot be written from a user namespace": changed.kernel({
    mayFail: true,
    tunables: seen([{ name: "kernel.panic", value: "0", wanted: "10", writable: false }]),
  }),
  "an expired client CA beside its successor": changed.identity({ clientCa: bundle }),
  "a node that is not registered yet": changed.api({ status: 404, message: "not found" }),
  "a listener on the same port of another address": changed.ports({
    listeners: seen([{ address: "192.0.2.1", port: 10_248, process: undefined }]),
  }),
  "a missing iptables command if no chains are configured": {
    ...SOUND,
    programs: { wantsIptables: false, found: seen({ iptables: false }) },
  },
  "a file system without inode counts": changed.room({ inodes: 0n, inodesFree: 0n }),
  "a new one-day certificate": changed.identity({ rotates: false, client: pair(-0.1, 0.9) }),
  "an unset resolver file for pods": { ...SOUND, resolver: { path: "", text: { kind: "refused", why: "ENOENT" } } },
  "sysctls that the agent will set": SOUND,
};

describe("doctor is silent about", () => {
  for (const [what, facts] of Object.entries(SOUND_TOO)) test(what, () => assert.deepEqual(diagnose(facts), []));
});

test("doctor prints the most severe finding first and fails from the given severity on", () => {
  const all = diagnose({
    ...SOUND,
    node: { ...SOUND.node, standalone: true },
    uid: 5,
    resolver: { path: "/r", text: { kind: "text", text: "" } },
  });
  assert.deepEqual(
    all.map(({ severity }) => severity),
    ["error", "warning", "note"],
  );
  const codes = (failOn: FailOn) => [0, 1, 2].map((from) => exitCodeOf(all.slice(from), failOn));
  assert.deepEqual(
    [codes("error"), codes("warning")],
    [
      [1, 0, 0],
      [1, 1, 0],
    ],
  );
  const text = diagnosisText(all, false);
  assert.match(text, /^ERROR {4}not-root\n {9}doctor runs as user 5\n {9}→ run it.*\n\nWARNING {2}/);
  assert.match(text, /\n1 error, 1 warning, 1 note\.\n$/);
  assert.match(diagnosisText(all.slice(1).concat(all.slice(1)), false), /\n0 errors, 2 warnings, 2 notes\.\n$/);
  const colored = diagnosisText(all, true);
  assert.ok(colored.startsWith("\u001b[1;31mERROR  \u001b[0m  not-root\n"));
  assert.equal(stripVTControlCharacters(colored), text);
  assert.deepEqual(JSON.parse(diagnosisJson(all, "error")), { exitCode: 1, findings: all });
});
