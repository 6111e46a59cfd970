import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { directoryOf, faultOf, HEADER, load, machine } from "../../../test/support/options.ts";
import { formatQuantity, parseQuantity } from "../../base/quantity.ts";
import { accessFault } from "./server-settings.ts";

const optionsOf = (...args: readonly string[]) => load(args).options;

void test("[1.13] the node name is the override or the hostname, trimmed and in lower case; an empty one is fatal", () => {
  assert.equal(optionsOf().node.name, "node-1");
  assert.equal(optionsOf("--hostname-override= MyNode ").node.name, "mynode");
  assert.equal(faultOf(["--hostname-override= "]), "failed to run Kubelet: empty hostname is invalid");
  assert.equal(faultOf([], { ...machine, hostname: "" }), "failed to run Kubelet: empty hostname is invalid");
});

void test("[1.12] without --kubeconfig there is no API server", () => {
  assert.deepEqual(optionsOf("--pod-cidr=10.0.0.0/24").api, { kind: "standalone" });
  assert.equal(optionsOf("--pod-cidr=10.0.0.0/24").node.podCidr, "10.0.0.0/24");
  const { api } = optionsOf("--kubeconfig=/k", "--node-status-update-frequency=1m");
  assert.ok(api.kind === "cluster");
  assert.deepEqual([api.kubeconfigPath, api.requestsPerSecond, api.heartbeatLimitMs], ["/k", 50, 40_000]);
});

void test("[1.14] each client has its rate, and heartbeats the shorter timeout of node status and lease", () => {
  const apiOf = (...args: readonly string[]) => optionsOf("--kubeconfig=/k", ...args).api;
  const usual = {
    kind: "cluster",
    kubeconfigPath: "/k",
    requestsPerSecond: 50,
    burst: 100,
    eventsPerSecond: 50,
    eventBurst: 100,
    heartbeatLimitMs: 10_000,
  };
  assert.deepEqual(apiOf(), usual);
  assert.deepEqual(apiOf("--node-status-update-frequency=1m"), { ...usual, heartbeatLimitMs: 40_000 });
  assert.deepEqual(apiOf("--kube-api-qps=7", "--kube-api-burst=8", "--event-qps=9", "--event-burst=11"), {
    ...usual,
    requestsPerSecond: 7,
    burst: 8,
    eventsPerSecond: 9,
    eventBurst: 11,
  });
  assert.deepEqual(apiOf("--kube-api-qps=0"), { ...usual, requestsPerSecond: 5 }, "as client-go reads a zero");
});

void test("[1.2] --cloud-provider accepts only external", () => {
  assert.equal(optionsOf("--cloud-provider=external").node.externalCloud, true);
  assert.match(
    faultOf(["--cloud-provider=aws"]),
    /cloud provider "aws" was specified, but built-in cloud providers are disabled/,
  );
});

void test("[1.2] --node-ip accepts one address per family and ignores invalid ones", () => {
  assert.deepEqual(optionsOf("--node-ip=10.0.0.1, fd00::1").node.ips, ["10.0.0.1", "fd00::1"]);
  assert.deepEqual(optionsOf("--node-ip=x,10.0.0.1").node.ips, ["10.0.0.1"]);
  assert.match(
    faultOf(["--node-ip=10.0.0.1,10.0.0.2"]),
    /bad --node-ip .* must contain either a single IP or a dual-stack pair of IPs/,
  );
  assert.match(faultOf(["--node-ip=0.0.0.0,::1"]), /dual-stack node IP cannot include '0.0.0.0' or '::'/);
});

void test("[1.2] --node-labels accepts only labels that a kubelet may set on its Node", () => {
  assert.deepEqual(optionsOf("--node-labels=a=b,node.kubernetes.io/x=y,c").node.labels, {
    a: "b",
    "node.kubernetes.io/x": "y",
    c: "",
  });
  assert.match(
    faultOf(["--node-labels=kubernetes.io/x=y"]),
    /^failed to validate kubelet flags: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: \[kubernetes.io\/x\]\n/,
  );
  assert.match(
    faultOf(["--node-labels=a b=c"]),
    /^failed to validate kubelet flags: invalid node labels: 'a b' - name part must consist of/,
  );
});

void test("[1.9] --reserved-cpus replaces the CPU of both reservations", () => {
  const { reserved } = optionsOf(
    "--reserved-cpus=0-1,4",
    "--kube-reserved=cpu=1,memory=1Gi",
    "--system-reserved=cpu=7",
  );
  assert.deepEqual(
    Object.entries(reserved.kube).map(([name, amount]) => [name, formatQuantity(amount)]),
    [["memory", "1Gi"]],
  );
  assert.deepEqual(
    Object.entries(reserved.system).map(([name, amount]) => [name, formatQuantity(amount)]),
    [["cpu", "3"]],
  );
  assert.deepEqual([...reserved.cpus], [0, 1, 4]);
});

for (const [flag, fault] of [
  ["--kube-reserved=x=1", '--kube-reserved value failed to parse: cannot reserve "x" resource'],
  [
    "--system-reserved=cpu=-1",
    '--system-reserved value failed to parse: resource quantity for "cpu" cannot be negative: -1',
  ],
  [
    "--kube-reserved=cpu=x",
    '--kube-reserved value failed to parse: failed to parse quantity "x" for "cpu" resource: quantities must match',
  ],
  ["--eviction-hard=x<1", "unsupported eviction signal x"],
  ["--eviction-hard=memory.available<101%", "eviction percentage threshold memory.available must be <= 100%: 101%"],
  ["--eviction-hard=memory.available<0", "eviction threshold memory.available must be positive: 0"],
  [
    "--eviction-soft=memory.available<1Gi",
    "grace period must be specified for the soft eviction threshold memory.available",
  ],
  [
    "--eviction-minimum-reclaim=memory.available=0%",
    "eviction percentage minimum reclaim memory.available must be positive: 0%",
  ],
  ["--exit-on-lock-contention", "cannot exit on lock file contention: no lock file specified"],
  ["--cgroup-driver=x", 'invalid cgroup driver "x"'],
] as const) {
  void test(`[1.9] ${flag} is rejected`, () => {
    assert.ok(faultOf([flag]).startsWith(`failed to run Kubelet: ${fault}`), faultOf([flag]));
  });
}

void test("[19.10] the limits of dead containers are as their flags set them; a negative minimum age is rejected", () => {
  assert.deepEqual(optionsOf().containerGc, { ageMsMin: 0, perContainerMax: 1, nodeMax: -1 });
  const limits = ["--maximum-dead-containers=9", "--maximum-dead-containers-per-container=2"];
  const { containerGc } = optionsOf(...limits, "--minimum-container-ttl-duration=1m30s");
  assert.deepEqual(containerGc, { ageMsMin: 90_000, perContainerMax: 2, nodeMax: 9 });
  assert.equal(
    faultOf(["--minimum-container-ttl-duration=-1s"]),
    "failed to run Kubelet: failed to create kubelet: invalid minimum garbage collection age: -1s",
  );
});

void test("[14.15] --qos-reserved has no effect without its gate, and must be valid even then", () => {
  assert.equal(optionsOf("--qos-reserved=memory=40%").cgroups.qosReservedMemory, undefined);
  const gated = optionsOf("--qos-reserved=memory=40%", "--feature-gates=QOSReserved=true");
  assert.equal(gated.cgroups.qosReservedMemory, 40n);
  assert.equal(
    faultOf(["--qos-reserved=cpu=40%"]),
    'failed to run Kubelet: --qos-reserved value failed to parse: cannot reserve "cpu" resource',
  );
});

void test("[1.25] [1.26] --healthz-port=0 and --enable-server=false disable their servers", () => {
  assert.deepEqual(optionsOf("--healthz-port=0").healthz, { kind: "off" });
  assert.deepEqual(optionsOf("--healthz-bind-address=::1").healthz, { kind: "on", address: "::1", port: 10248 });
  assert.equal(optionsOf("--enable-server=false").server.enabled, false);
  assert.ok(optionsOf("--enable-server=false").warnings.every((warning) => !warning.includes("enableServer")));
});

void test("[1.27] a process that is not root gets a warning and continues", () => {
  const { notices } = load([], { ...machine, uid: 1000 });
  assert.equal(notices.permissionFault, "kubelet needs to run as uid `0`. It is being run as 1000");
  assert.equal(load([]).notices.permissionFault, undefined);
});

void test("[1.8] the image service endpoint defaults to the runtime endpoint", () => {
  const runtimeOf = (...args: readonly string[]) => optionsOf(...args).runtime;
  const usual = "unix:///run/containerd/containerd.sock";
  assert.deepEqual([runtimeOf().endpoint, runtimeOf().imageEndpoint], [usual, usual]);
  assert.equal(runtimeOf("--container-runtime-endpoint=unix:///a").imageEndpoint, "unix:///a");
  assert.equal(runtimeOf("--image-service-endpoint=unix:///b").imageEndpoint, "unix:///b");
});

void test("[14.7] the kubelet's oom_score_adj is -999 unless it is configured", () => {
  assert.equal(optionsOf().cgroups.oomScoreAdj, -999);
  assert.equal(optionsOf("--oom-score-adj=-500").cgroups.oomScoreAdj, -500);
});

void test("[1.28] --experimental-allocatable-ignore-eviction keeps eviction thresholds out of allocatable", () => {
  assert.equal(optionsOf("--experimental-allocatable-ignore-eviction").eviction.outOfAllocatable, false);
  assert.equal(optionsOf().eviction.outOfAllocatable, true);
});

void test("[1.8] singleProcessOOMKill is on by default for cgroup v1 and off for v2", () => {
  assert.equal(optionsOf().cgroups.singleProcessOomKill, false);
  const old = load(["--fail-cgroupv1=false"], { ...machine, cgroupVersion: 1 }).options;
  assert.deepEqual([old.cgroups.singleProcessOomKill, old.cgroups.version, old.cgroups.root], [true, 1, "/"]);
});

void test("[1.5] --seccomp-default can enable, not disable, the default profile", (t) => {
  const path = join(directoryOf(t, { "c.yaml": `${HEADER}seccompDefault: true\n` }), "c.yaml");
  assert.equal(optionsOf("--config", path, "--seccomp-default=false").pods.seccompDefault, true);
  assert.equal(optionsOf("--seccomp-default").pods.seccompDefault, true);
});

void test("[9.4] one image is pulled at a time by default, five in parallel in enhanced mode, else as configured", (t) => {
  const directory = directoryOf(t, {
    "one.yaml": `${HEADER}serializeImagePulls: true\nregistryPullQPS: 0\nregistryBurst: 3\n`,
    "all.yaml": `${HEADER}serializeImagePulls: false\n`,
    "some.yaml": `${HEADER}serializeImagePulls: false\nmaxParallelImagePulls: 3\n`,
    "many.yaml": `${HEADER}maxParallelImagePulls: 8\n`,
    "few.yaml": `${HEADER}maxParallelImagePulls: 1\n`,
    "none.yaml": `${HEADER}registryPullQPS: 7\n`,
  });
  const mostOf = (file: string, ...more: readonly string[]) =>
    optionsOf("--config", join(directory, file), ...more).images.pulls.most;
  const files = ["none.yaml", "one.yaml", "all.yaml", "some.yaml", "many.yaml", "few.yaml"];
  const modes = { strict: "--deckhand-compatibility=strict", enhanced: "--deckhand-compatibility=enhanced" };
  const configured = [1, Number.POSITIVE_INFINITY, 3, 8, 1];
  assert.deepEqual(
    files.map((file) => mostOf(file, modes.strict)),
    [1, ...configured],
  );
  assert.deepEqual(
    files.map((file) => mostOf(file, modes.enhanced)),
    [5, ...configured],
  );
  assert.equal(mostOf("none.yaml", modes.enhanced, "--serialize-image-pulls"), 1);
  assert.equal(mostOf("none.yaml", "--serialize-image-pulls=false"), Number.POSITIVE_INFINITY);
  assert.deepEqual(optionsOf().images.pulls, { most: 1, perSecond: 5, burst: 10 });
  const { pulls } = optionsOf("--config", join(directory, "one.yaml")).images;
  assert.deepEqual([pulls.perSecond, pulls.burst], [0, 3]);
  assert.ok(
    files.every((file) => optionsOf("--config", join(directory, file)).warnings.every((text) => !/ull/.test(text))),
  );
});

void test("--deckhand-compatibility is strict by default; another word than strict and enhanced is fatal", () => {
  const strict = { undecidedPods: { kind: "decide", afterMs: 5_000 }, misconfigurationIsFatal: true };
  assert.deepEqual(optionsOf().compatibility, strict);
  assert.deepEqual(optionsOf("--deckhand-compatibility=strict").compatibility, strict);
  assert.deepEqual(optionsOf("--deckhand-compatibility=enhanced").compatibility, {
    undecidedPods: { kind: "wait" },
    misconfigurationIsFatal: false,
  });
  assert.throws(() => optionsOf("--deckhand-compatibility=loose"), {
    message: 'failed to run Kubelet: invalid --deckhand-compatibility "loose", expected "strict" or "enhanced"',
  });
});

void test("[17.2] --deckhand-memory-signal is working-set by default; another word than mem-available is fatal", () => {
  assert.equal(optionsOf().eviction.memorySignal, "working-set");
  assert.equal(optionsOf("--deckhand-memory-signal=mem-available").eviction.memorySignal, "mem-available");
  assert.throws(() => optionsOf("--deckhand-memory-signal=free"), {
    message:
      'failed to run Kubelet: invalid --deckhand-memory-signal "free", expected "working-set" or "mem-available"',
  });
});

void test("[17.3] options include minimum reclaims and the longest grace period of soft evictions", () => {
  const { eviction } = optionsOf(
    "--eviction-soft=memory.available<1Gi",
    "--eviction-soft-grace-period=memory.available=90s",
    "--eviction-minimum-reclaim=memory.available=500Mi,nodefs.available=5%",
    "--eviction-max-pod-grace-period=45",
  );
  assert.equal(eviction.maxPodGraceSeconds, 45);
  assert.deepEqual(
    eviction.soft.map(({ signal, graceMs }) => [signal, graceMs]),
    [["memory.available", 90_000]],
  );
  assert.deepEqual(
    [...eviction.minReclaims],
    [
      ["memory.available", { kind: "amount", amount: parseQuantity("500Mi") }],
      ["nodefs.available", { kind: "share", share: 0.05 }],
    ],
  );
});

void test("[9.6] options include the working and home directories for registry credentials", () => {
  const { workingDirectory, homeDirectory } = optionsOf().images;
  assert.deepEqual([workingDirectory, homeDirectory], ["/working", "/root"]);
});

void test("[19.9] a negative log size disables rotation; an invalid size or fewer than two files is fatal", () => {
  const limits = { kind: "limited", bytesMax: 10 * 1024 * 1024, filesMax: 5, workersMax: 1, everyMs: 10_000 };
  assert.deepEqual(optionsOf().containerLogs, limits);
  assert.deepEqual(optionsOf("--container-log-max-size=2k", "--container-log-max-files=2").containerLogs, {
    ...limits,
    bytesMax: 2000,
    filesMax: 2,
  });
  assert.deepEqual(optionsOf("--container-log-max-size=-1").containerLogs, { kind: "unlimited" });
  const start =
    "failed to run Kubelet: failed to initialize container log manager: failed to parse container log max size";
  assert.equal(faultOf(["--container-log-max-size=0.5"]), `${start} "0.5": invalid max log size`);
  assert.ok(faultOf(["--container-log-max-size=x"]).startsWith(`${start} "x": quantities must match`));
  assert.match(faultOf(["--container-log-max-files=1"]), /containerLogMaxFiles must be greater than 1/);
});

void test("[22.3] tracing is on when a field is set, with the endpoint localhost:4317 and the rate 0 by default", (t) => {
  const directory = directoryOf(t, {
    "both.yaml": `${HEADER}tracing:\n  endpoint: unix:///c.sock\n  samplingRatePerMillion: 100\n`,
    "rate.yaml": `${HEADER}tracing:\n  samplingRatePerMillion: 1000000\n`,
    "endpoint.yaml": `${HEADER}tracing:\n  endpoint: collector:4317\n`,
    "empty.yaml": `${HEADER}tracing: {}\n`,
  });
  const tracing = (file: string) => {
    const { options } = load(["--kubeconfig=/k", "--config", join(directory, file)]);
    assert.deepEqual(options.warnings, []);
    return options.tracing;
  };
  assert.deepEqual(optionsOf().tracing, { kind: "off" });
  assert.deepEqual(tracing("empty.yaml"), { kind: "off" });
  assert.deepEqual(tracing("both.yaml"), { kind: "on", endpoint: "unix:///c.sock", perMillion: 100 });
  assert.deepEqual(tracing("rate.yaml"), { kind: "on", endpoint: "localhost:4317", perMillion: 1_000_000 });
  assert.deepEqual(tracing("endpoint.yaml"), { kind: "on", endpoint: "collector:4317", perMillion: 0 });
});

void test("[2.5] TLS defaults to 1.2 with ECDHE suites, and accepts Go's names of versions, suites and curves", (t) => {
  const directory = directoryOf(t, {
    "c.yaml": `${HEADER}tlsCurvePreferences: [29, 23]\n`,
    "d.yaml": `${HEADER}tlsCurvePreferences: [1]\n`,
  });
  const { minVersion, ciphers, curves } = optionsOf().server.tls;
  assert.deepEqual([minVersion, curves], ["TLSv1.2", "auto"]);
  assert.deepEqual(
    ciphers.split(":").filter((name) => !name.startsWith("TLS_") && !name.startsWith("ECDHE-")),
    [],
  );
  const chosen = optionsOf("--tls-min-version=VersionTLS13", "--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA").server
    .tls;
  assert.equal(chosen.minVersion, "TLSv1.3");
  assert.equal(chosen.ciphers, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:AES128-SHA");
  assert.equal(optionsOf("--config", join(directory, "c.yaml")).server.tls.curves, "X25519:P-256");
  const prefix = "failed to construct kubelet dependencies: ";
  assert.equal(faultOf(["--tls-min-version=1.2"]), `${prefix}unknown tls version "1.2"`);
  assert.equal(faultOf(["--tls-cipher-suites=X"]), `${prefix}Cipher suite X not supported or doesn't exist`);
  const curve = `${prefix}curve preference 1 is not supported by the current Go version`;
  assert.equal(faultOf(["--config", join(directory, "d.yaml")]), curve);
});

void test("[1.6] access is open without a configuration file and closed with one", (t) => {
  const directory = directoryOf(t, { "c.yaml": HEADER });
  const access = (...args: readonly string[]) => {
    const { readOnlyPort, authentication, authorization } = optionsOf(...args).server;
    return { readOnlyPort, authentication, authorization };
  };
  assert.deepEqual(access(), {
    readOnlyPort: 10255,
    authentication: { tokenKeepMs: undefined, anonymous: true },
    authorization: { mode: "alwaysAllow" },
  });
  assert.deepEqual(access("--config", join(directory, "c.yaml")), {
    readOnlyPort: 0,
    authentication: { tokenKeepMs: 120_000, anonymous: false },
    authorization: { mode: "webhook", keepAllowedMs: 300_000, keepDeniedMs: 30_000 },
  });
  assert.equal(faultOf(["--authorization-mode=RBAC"]), "failed to run Kubelet: unknown authorization mode RBAC");
});

void test("authentication without a client or a method is a fault with the Go kubelet's message", (t) => {
  const directory = directoryOf(t, { "c.yaml": HEADER });
  const closed = optionsOf("--config", join(directory, "c.yaml"));
  assert.equal(accessFault(closed.server, true), undefined);
  assert.equal(accessFault(closed.server, false), "no client provided, cannot use webhook authentication");
  const open = optionsOf();
  assert.equal(accessFault(open.server, false), undefined);
  const webhook = optionsOf("--authorization-mode=Webhook");
  assert.equal(accessFault(webhook.server, false), "no client provided, cannot use webhook authorization");
  assert.equal(accessFault(optionsOf("--anonymous-auth=false").server, true), "no authentication method configured");
});

void test("[20.15] every flag has its default or given value as text, without credentials", () => {
  const { flags } = optionsOf("--v=4", "--manifest-url-header=Authorization:canary", "--node-labels=a=b");
  assert.deepEqual(
    [flags["v"], flags["node-labels"], flags["sync-frequency"], flags["anonymous-auth"], flags["manifest-url-header"]],
    ["4", "a=b", "1m0s", "true", "CLASSIFIED"],
  );
  assert.ok(Object.keys(flags).length > 100);
  assert.ok(!JSON.stringify(flags).includes("canary"));
});

void test("[14.11] memory QoS follows its feature gate and needs cgroup v2", (t) => {
  const gate = "--feature-gates=MemoryQoS=true";
  assert.equal(load([]).options.cgroups.memoryQos, undefined);
  assert.deepEqual(load([gate]).options.cgroups.memoryQos, { tiered: false, throttlingFactor: 0.9 });
  const policy = "memoryReservationPolicy: TieredReservation\nmemoryThrottlingFactor: 0.5\n";
  const directory = directoryOf(t, { "c.yaml": `${HEADER}${policy}` });
  const { options } = load([gate, `--config=${directory}/c.yaml`]);
  assert.deepEqual(options.cgroups.memoryQos, { tiered: true, throttlingFactor: 0.5 });
  const old = load([gate, "--fail-cgroupv1=false"], { ...machine, cgroupVersion: 1 });
  assert.equal(old.options.cgroups.memoryQos, undefined);
});

void test("[9.10] [9.11] the settings of image garbage collection come from fields and flags; a glob may be given several times", (t) => {
  const initial = { highPercent: 85, lowPercent: 80, ageMsMin: 120_000, ageMsMax: 0, keep: [], keepUnreachable: false };
  assert.deepEqual(optionsOf().images.gc, initial);
  const fields = "imageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 60\n";
  const ages = "imageMinimumGCAge: 1m\nimageMaximumGCAge: 24h\n";
  const directory = directoryOf(t, { "c.yaml": HEADER + fields + ages });
  const globs = [
    "--deckhand-image-gc-keep=*/a:*",
    "--deckhand-image-gc-keep=b,c",
    "--deckhand-image-gc-keep-unreachable",
  ];
  assert.deepEqual(optionsOf(`--config=${directory}/c.yaml`, ...globs).images.gc, {
    highPercent: 70,
    lowPercent: 60,
    ageMsMin: 60_000,
    ageMsMax: 86_400_000,
    keep: ["*/a:*", "b", "c"],
    keepUnreachable: true,
  });
});
