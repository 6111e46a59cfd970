import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { directoryOf, faultOf, HEADER, load } from "../../../test/support/options.ts";

const all = (directory: string) => ["--config", join(directory, "c.yaml"), "--config-dir", join(directory, "d")];

void test("[1.5] defaults, file, drop-ins and flags apply in this order, and each value has its origin", (t) => {
  const directory = directoryOf(t, {
    "c.yaml": `${HEADER}maxPods: 1\nport: 1\nhealthzPort: 1\n`,
    "d/10.conf": `${HEADER}port: 2\nhealthzPort: 2\n`,
  });
  const { config, origins } = load([...all(directory), "--healthz-port=3"]).effective;
  assert.deepEqual([config.podsPerCore, config.maxPods, config.port, config.healthzPort], [0, 1, 2, 3]);
  assert.equal(origins.get("podsPerCore"), undefined);
  assert.deepEqual(origins.get("maxPods"), [{ kind: "file", path: join(directory, "c.yaml") }]);
  assert.deepEqual(origins.get("port"), [{ kind: "dropIn", path: join(directory, "d/10.conf") }]);
  assert.deepEqual(origins.get("healthzPort"), [{ kind: "flag", name: "healthz-port" }]);
});

void test("[1.5] [1.10] feature gates are merged by key, and the flag wins", (t) => {
  const directory = directoryOf(t, {
    "c.yaml": `${HEADER}featureGates: {MemoryQoS: true, EventedPLEG: true, QOSReserved: true}\n`,
    "d/1.conf": `${HEADER}featureGates: {EventedPLEG: false}\n`,
  });
  const { options, effective } = load([...all(directory), "--feature-gates=QOSReserved=false"]);
  const { MemoryQoS, EventedPLEG, QOSReserved, PodLevelResources } = options.gates;
  assert.deepEqual([MemoryQoS, EventedPLEG, QOSReserved, PodLevelResources], [true, false, false, true]);
  assert.deepEqual(
    effective.origins.get("featureGates")?.map(({ kind }) => kind),
    ["file", "dropIn", "flag"],
  );
});

void test("[1.4] drop-ins apply in lexical order, recursively, only .conf; lists replace, maps merge, null resets", (t) => {
  const directory = directoryOf(t, {
    "c.yaml": `${HEADER}clusterDNS: [1.1.1.1, 2.2.2.2]\nkubeReserved: {cpu: "1", memory: 1Gi}\nmaxPods: 5\nstaticPodPath: /x\n`,
    "d/10.conf": `${HEADER}clusterDNS: [3.3.3.3]\nkubeReserved: {cpu: "2"}\nmaxPods: null\nunknown: 1\n`,
    "d/20/a.conf": `${HEADER}podsPerCore: 2\nstaticPodPath: relative\n`,
    "d/30.conf": `${HEADER}podsPerCore: 3\n`,
    "d/30.yaml": "not read",
  });
  const { effective, notices } = load(all(directory));
  const { clusterDNS, kubeReserved, maxPods, podsPerCore, staticPodPath } = effective.config;
  assert.deepEqual(clusterDNS, ["3.3.3.3"]);
  assert.deepEqual(kubeReserved, { cpu: "2", memory: "1Gi" });
  assert.deepEqual([maxPods, podsPerCore, staticPodPath], [110, 3, "relative"]);
  assert.deepEqual(effective.skippedDropIns, [join(directory, "d/30.yaml")]);
  assert.equal(notices.strictFault, undefined);
  assert.equal(effective.origins.get("maxPods")?.length, 0);
});

void test("[1.4] a drop-in patches the defaulted configuration: derived defaults do not follow it", (t) => {
  const directory = directoryOf(t, {
    "c.yaml": `${HEADER}enforceNodeAllocatable: []\n`,
    "d/1.conf": `${HEADER}nodeStatusUpdateFrequency: 7s\n`,
  });
  const { nodeStatusReportFrequency, enforceNodeAllocatable } = load(all(directory)).effective.config;
  assert.equal(nodeStatusReportFrequency, 300_000_000_000n);
  // That form omits an empty list, so the default applies again.
  assert.deepEqual(enforceNodeAllocatable, ["pods"]);
  assert.deepEqual(load(all(directory).slice(0, 2)).effective.config.enforceNodeAllocatable, []);
});

for (const [name, text, fault] of [
  ["without a kind", "maxPods: 3\n", /path: .*a\.conf, error: Object 'Kind' is missing in 'maxPods: 3\n'$/],
  ["of another kind", "apiVersion: v1\nkind: X\n", /path: .*a\.conf, unknown apiVersion\/kind: \/v1, Kind=X$/],
  [
    "of a wrong type",
    `${HEADER}maxPods: "x"\n`,
    /^failed to merge kubelet configs: failed to unmarshal merged JSON into kubelet configuration: json: cannot unmarshal string into Go struct field KubeletConfiguration\.maxPods of type int32$/,
  ],
] as const) {
  void test(`[1.4] a drop-in ${name} is fatal`, (t) => {
    assert.match(faultOf(["--config-dir", directoryOf(t, { "a.conf": text })]), fault);
  });
}

void test("[1.4] a missing directory of drop-ins is fatal", () => {
  assert.equal(
    faultOf(["--config-dir", "/none"]),
    'failed to merge kubelet configs: failed to walk through kubelet dropin directory "/none": lstat /none: no such file or directory',
  );
});

void test("[1.6] access defaults are open without --config, also with drop-ins, and closed with it", (t) => {
  const directory = directoryOf(t, { "c.yaml": HEADER, "d/1.conf": HEADER });
  const access = (args: readonly string[]) => {
    const { config } = load(args).effective;
    const { "authentication.anonymous.enabled": anonymous, "authentication.webhook.enabled": webhook } = config;
    return [anonymous, webhook, config["authorization.mode"], config.readOnlyPort];
  };
  assert.deepEqual(access([]), [true, false, "AlwaysAllow", 10255]);
  assert.deepEqual(access(["--config-dir", join(directory, "d")]), [true, false, "AlwaysAllow", 10255]);
  assert.deepEqual(access(["--config", join(directory, "c.yaml")]), [false, true, "Webhook", 0]);
  assert.deepEqual(access(all(directory)), [false, true, "Webhook", 0]);
});

void test("[17.1] a file's evictionHard replaces all default thresholds unless mergeDefaultEvictionSettings is set", (t) => {
  const directory = directoryOf(t, {
    "none.yaml": HEADER,
    "own.yaml": `${HEADER}evictionHard: {memory.available: 5%, nodefs.available: 0%}\n`,
    "empty.yaml": `${HEADER}evictionHard: {}\n`,
    "merged.yaml": `${HEADER}evictionHard: {memory.available: 5%}\nmergeDefaultEvictionSettings: true\n`,
    "d/1.conf": `${HEADER}evictionHard: {pid.available: 1%}\n`,
  });
  const defaults = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
  };
  const hard = (...args: readonly string[]) => load(args).effective.config.evictionHard;
  const file = (name: string) => ["--config", join(directory, name)] as const;
  assert.deepEqual(hard(...file("none.yaml")), defaults);
  assert.deepEqual(hard(...file("own.yaml")), { "memory.available": "5%", "nodefs.available": "0%" });
  assert.deepEqual(hard(...file("empty.yaml")), {});
  assert.deepEqual(hard(...file("merged.yaml")), { ...defaults, "memory.available": "5%" });
  assert.deepEqual(hard(...file("none.yaml"), "--config-dir", join(directory, "d")), {
    ...defaults,
    "pid.available": "1%",
  });
  assert.equal(hard(), undefined);
  assert.deepEqual(load(file("own.yaml")).options.eviction.hard, [
    { signal: "memory.available", value: { kind: "share", share: 0.05 } },
  ]);
});

void test("[1.7] [1.8] nodeStatusReportFrequency follows the update frequency, serializeImagePulls maxParallelImagePulls", (t) => {
  const directory = directoryOf(t, {
    "c.yaml": `${HEADER}nodeStatusUpdateFrequency: 3s\nmaxParallelImagePulls: 4\npodPidsLimit: -7\n`,
  });
  const { config } = load(["--config", join(directory, "c.yaml")]).effective;
  assert.deepEqual(
    [config.nodeStatusReportFrequency, config.serializeImagePulls, config.podPidsLimit],
    [3_000_000_000n, false, -1n],
  );
});

void test("a field without effect or implementation warns with its origin unless it has its default", (t) => {
  const directory = directoryOf(t, {
    "c.yaml": `${HEADER}shutdownGracePeriod: 30s\ncgroupsPerQOS: true\nhairpinMode: none\nport: 10250\n`,
  });
  const path = join(directory, "c.yaml");
  assert.deepEqual(load(["--config", path]).options.warnings, [
    `hairpinMode (${path}) is set without effect: it has no effect in the Go kubelet either`,
    `shutdownGracePeriod (${path}) is set, but needs a feature that is not implemented: graceful shutdown of the node`,
  ]);
});
