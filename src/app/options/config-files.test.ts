import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { directoryOf, faultOf, HEADER, load } from "../../../test/support/options.ts";
import { CONFIGURATION_BYTES_MAX } from "../limits.ts";
import { DocumentFault, readDocument } from "./config-files.ts";

void test("[1.3] unknown and duplicate fields are decoded leniently and reported", (t) => {
  const text = `${HEADER}maxPods: 1\nmaxPods: 22\nzzz: 1\nlogging: {nope: 1}\nregisterWithTaints: [{key: a, effect: NoSchedule, foo: 1}]\n`;
  const { notices, options } = load(["--config", join(directoryOf(t, { "c.yaml": text }), "c.yaml")]);
  assert.equal(
    notices.strictFault,
    'strict decoding error: yaml: unmarshal errors:\n  line 4: key "maxPods" already set in map, ' +
      'unknown field "logging.nope", unknown field "registerWithTaints[0].foo", unknown field "zzz"',
  );
  assert.equal(options.node.podsMax, 22);
});

void test("[1.3] [27.1.2] kubeadm's configuration file passes strict decoding", (t) => {
  const text = `${HEADER}authentication: {anonymous: {enabled: false}, webhook: {cacheTTL: 0s, enabled: true}, x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}}
authorization: {mode: Webhook, webhook: {cacheAuthorizedTTL: 0s, cacheUnauthorizedTTL: 0s}}
cgroupDriver: systemd
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock"
cpuManagerReconcilePeriod: 0s
crashLoopBackOff: {}
evictionPressureTransitionPeriod: 0s
fileCheckFrequency: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 10248
httpCheckFrequency: 0s
imageMaximumGCAge: 0s
imageMinimumGCAge: 0s
logging: {flushFrequency: 0, options: {json: {infoBufferSize: "0"}, text: {infoBufferSize: "0"}}, verbosity: 0}
memorySwap: {}
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
staticPodPath: /etc/kubernetes/manifests
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
`;
  const { notices, options } = load(["--config", join(directoryOf(t, { "c.yaml": text }), "c.yaml")]);
  assert.equal(notices.strictFault, undefined);
  assert.deepEqual(options.pods.staticDirectory, { path: "/etc/kubernetes/manifests", everyMs: 20_000 });
  assert.deepEqual([options.node.statusEveryMs, options.node.reportEveryMs], [10_000, 300_000]);
});

for (const [name, body, fault] of [
  [
    "text for a number",
    'maxPods: "1"',
    "json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32",
  ],
  [
    "a fraction",
    "maxPods: 1.5",
    "json: cannot unmarshal number 1.5 into Go struct field KubeletConfiguration.maxPods of type int32",
  ],
  [
    "more than 32 bits",
    "maxPods: 99999999999",
    "json: cannot unmarshal number 99999999999 into Go struct field KubeletConfiguration.maxPods of type int32",
  ],
  [
    "a number for a duration",
    "syncFrequency: 5",
    "json: cannot unmarshal number into Go struct field KubeletConfiguration.syncFrequency of type string",
  ],
  ["an invalid duration", "syncFrequency: 5x", 'time: unknown unit "x" in duration "5x"'],
  [
    "a list for a map",
    "evictionHard: [a]",
    "json: cannot unmarshal array into Go struct field KubeletConfiguration.evictionHard of type map[string]string",
  ],
  [
    "text for a bool",
    'enableServer: "yes"',
    "json: cannot unmarshal string into Go struct field KubeletConfiguration.enableServer of type bool",
  ],
  [
    "a number for text",
    "showHiddenMetricsForVersion: 1.2",
    "json: cannot unmarshal number into Go struct field KubeletConfiguration.showHiddenMetricsForVersion of type string",
  ],
  [
    "a negative level",
    "logging: {verbosity: -1}",
    "json: cannot unmarshal number -1 into Go struct field LoggingConfiguration.logging.verbosity of type v1.VerbosityLevel",
  ],
] as const) {
  void test(`[1.3] ${name} is fatal`, (t) => {
    const path = join(directoryOf(t, { "c.yaml": `${HEADER}${body}\n` }), "c.yaml");
    assert.equal(
      faultOf(["--config", path]),
      `failed to load kubelet config file, path: ${path}, error: failed to load Kubelet config file ${path}, error failed to decode: ${fault}`,
    );
  });
}

for (const [name, text, fault] of [
  ["another kind", "apiVersion: v1\nkind: Pod\n", /failed to decode: no kind "Pod" is registered for version "v1"/],
  [
    "another version",
    "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n",
    /no kind "KubeletConfiguration" is registered for version "kubelet.config.k8s.io\/v1"/,
  ],
  ["a missing kind", "{}", /Object 'Kind' is missing in '\{\}'/],
  ["an empty file", "", /kubelet config file ".*" was empty/],
  [
    "text without an object",
    "just text",
    /couldn't get version\/kind; json parse error: json: cannot unmarshal string/,
  ],
  ["invalid YAML", `${HEADER}a: [`, /failed to decode: yaml: line 3: /],
  ["brackets nested too deep", `${HEADER}a: ${"[".repeat(100_000)}`, /nested deeper than 64/],
  [
    "indentation nested too deep",
    `${HEADER}a:\n${Array.from({ length: 100 }, (_, depth) => `${" ".repeat(depth + 1)}a:`).join("\n")}`,
    /nested deeper than 64/,
  ],
  [
    "an alias bomb",
    `${HEADER}a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`,
    /[Ee]xcessive alias/,
  ],
  [
    "a file of one byte more than the limit",
    HEADER.padEnd(CONFIGURATION_BYTES_MAX + 1, "#"),
    new RegExp(`failed to read kubelet config file ".*", error: larger than ${CONFIGURATION_BYTES_MAX} bytes$`),
  ],
] as const) {
  void test(`[1.3] ${name} is fatal as a configuration`, (t) => {
    assert.match(faultOf(["--config", join(directoryOf(t, { "c.yaml": text }), "c.yaml")]), fault);
  });
}

void test("[1.3] a configuration file of exactly the limit is read, a larger drop-in file is fatal", (t) => {
  const directory = directoryOf(t, {
    "c.yaml": `${HEADER}maxPods: 3\n`.padEnd(CONFIGURATION_BYTES_MAX, "#"),
    "d/1.conf": HEADER.padEnd(CONFIGURATION_BYTES_MAX + 1, "#"),
  });
  const config = ["--config", join(directory, "c.yaml")];
  assert.equal(load(config).options.node.podsMax, 3);
  const fault = new RegExp(
    `drop-in kubelet config file ".*/1.conf", error: larger than ${CONFIGURATION_BYTES_MAX} bytes$`,
  );
  assert.match(faultOf([...config, "--config-dir", join(directory, "d")]), fault);
});

void test("readDocument rejects a text over the limit and accepts one of exactly the limit", () => {
  assert.deepEqual(readDocument("{}".padEnd(CONFIGURATION_BYTES_MAX)).value, {});
  assert.throws(() => readDocument("{}".padEnd(CONFIGURATION_BYTES_MAX + 1)), DocumentFault);
});

void test("[1.3] a missing file is fatal", () => {
  assert.match(faultOf(["--config", "/none/c.yaml"]), /error: open \/none\/c\.yaml: no such file or directory$/);
});

void test("[1.3] JSON is accepted, and only the first of several documents is read", (t) => {
  const json = JSON.stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    maxPods: 3,
  });
  const directory = directoryOf(t, { "c.json": json, "c.yaml": `${HEADER}maxPods: 4\n---\n${HEADER}maxPods: 5\n` });
  assert.equal(load(["--config", join(directory, "c.json")]).options.node.podsMax, 3);
  assert.equal(load(["--config", join(directory, "c.yaml")]).options.node.podsMax, 4);
});

void test("[1.3] YAML follows Go: no is false, 0x10 is 16, dates and 1:30 stay strings", (t) => {
  const directory = directoryOf(t, {
    "c.yaml": `${HEADER}enableServer: no\nmaxPods: 0x10\nproviderID: 2001-01-01\nclusterDomain: 1:30\n`,
  });
  const { config } = load(["--config", join(directory, "c.yaml")]).effective;
  assert.deepEqual(
    [config.enableServer, config.maxPods, config.providerID, config.clusterDomain],
    [false, 16, "2001-01-01", "1:30"],
  );
});

void test("[1.3] all seven relative paths are resolved from the file's directory", (t) => {
  const body =
    "staticPodPath: a\ntlsCertFile: b\ntlsPrivateKeyFile: c\nresolvConf: d\nvolumePluginDir: e\npodLogsDir: f\nauthentication: {x509: {clientCAFile: g}}\nkubeletCgroups: h\n";
  const directory = directoryOf(t, { "c.yaml": HEADER + body });
  const { config } = load(["--config", join(directory, "c.yaml")]).effective;
  const paths = [
    config.staticPodPath,
    config.tlsCertFile,
    config.tlsPrivateKeyFile,
    config.resolvConf,
    config.volumePluginDir,
    config.podLogsDir,
  ];
  assert.deepEqual(
    paths,
    ["a", "b", "c", "d", "e", "f"].map((name) => join(directory, name)),
  );
  assert.equal(config["authentication.x509.clientCAFile"], join(directory, "g"));
  assert.equal(config.kubeletCgroups, "h");
});

void test("[1.3] zero means the default for plain fields and zero for pointer fields", (t) => {
  const directory = directoryOf(t, {
    "c.yaml": `${HEADER}maxPods: 0\nport: 0\nhealthzPort: 0\nkubeAPIQPS: 0\nresolvConf: ""\nimageGCLowThresholdPercent: 0\n`,
  });
  const { config } = load(["--config", join(directory, "c.yaml")]).effective;
  assert.deepEqual(
    [config.maxPods, config.port, config.healthzPort, config.kubeAPIQPS, config.resolvConf],
    [110, 10250, 0, 0, ""],
  );
});

void test("__proto__ and constructor are ordinary keys", (t) => {
  const directory = directoryOf(t, {
    "c.yaml": `${HEADER}__proto__: {maxPods: 1}\nconstructor: 1\nevictionHard: {__proto__: "5%"}\n`,
  });
  assert.match(faultOf(["--config", join(directory, "c.yaml")]), /unsupported eviction signal __proto__/);
});
