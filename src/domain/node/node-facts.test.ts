/** Capacity, nodeInfo, images, handlers and features: the plain facts of a node's status. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { machineFacts, runtimeAnswered } from "../../../test/support/node-world.ts";
import type { Image } from "../runtime/image.ts";
import { isExtendedResource, machineCapacity, mergedCapacity } from "./capacity.ts";
import { declaredFeatures } from "./declared-features.ts";
import { reportedImages } from "./images.ts";
import { nodeInfo, runtimeVersion, wasRebooted } from "./node-info.ts";
import { reportedFeatures, reportedHandlers } from "./runtime-handlers.ts";
import { RUNTIME_UNKNOWN } from "./runtime-health.ts";

test("[3.6] capacity is written as canonical quantities", () => {
  const pods = { maxPods: 110, podsPerCore: 0 };
  assert.deepEqual(machineCapacity(machineFacts, 101_430_960n * 1024n, pods), {
    cpu: "2",
    memory: "8145508Ki",
    pods: "110",
    "ephemeral-storage": "101430960Ki",
    "hugepages-2Mi": "4Mi",
    "hugepages-1Gi": "0",
  });
});

for (const [maxPods, podsPerCore, want] of [
  [110, 0, "110"],
  [110, 10, "20"],
  [110, 100, "110"],
  [1000, 0, "1k"],
] as const) {
  test(`[3.6] maxPods ${maxPods} and podsPerCore ${podsPerCore} give ${want} pods on two cores`, () => {
    assert.equal(machineCapacity(machineFacts, undefined, { maxPods, podsPerCore })["pods"], want);
  });
}

test("[3.6] capacity advertised by others is kept, a huge page size that is gone is removed", () => {
  const existing = { cpu: "1", "example.com/gpu": "3", "hugepages-32Mi": "0" };
  assert.deepEqual(mergedCapacity(existing, { cpu: "2", "hugepages-2Mi": "0" }), {
    cpu: "2",
    "example.com/gpu": "3",
    "hugepages-2Mi": "0",
  });
  const names = ["example.com/gpu", "cpu", "hugepages-2Mi", "kubernetes.io/batch", "requests.example.com/x"];
  assert.deepEqual(names.filter(isExtendedResource), ["example.com/gpu"]);
});

const agent = { kubeletVersion: "v1.36.4", architecture: "amd64" };
const runtime = { name: "containerd", version: "v2.2.0", apiVersion: "v1" };

test("[3.8] nodeInfo describes the machine, its runtime and its agent, without a proxy version", () => {
  assert.deepEqual(nodeInfo(undefined, { ...machineFacts, swapBytes: 4096n }, runtime, agent), {
    machineID: "machine",
    systemUUID: "system",
    bootID: "boot-1",
    kernelVersion: "6.1.0",
    osImage: "Debian GNU/Linux 12 (bookworm)",
    containerRuntimeVersion: "containerd://2.2.0",
    kubeletVersion: "v1.36.4",
    kubeProxyVersion: "",
    operatingSystem: "linux",
    architecture: "amd64",
    swap: { capacity: 4096 },
  });
});

test("[3.8] nodeInfo keeps what cannot be read now, and drops swap that is gone", () => {
  const before = nodeInfo(undefined, { ...machineFacts, swapBytes: 4096n }, runtime, agent);
  assert.deepEqual(nodeInfo(before, undefined, undefined, agent), before);
  assert.equal(nodeInfo(before, machineFacts, runtime, agent).swap, undefined);
});

for (const [version, want] of [
  ["v2.2.0", "containerd://2.2.0"],
  ["1.7.27", "containerd://1.7.27"],
  ["v2.3.0-rc.1+unknown", "containerd://2.3.0-rc.1+unknown"],
  ["1.36", "containerd://1.36"],
  ["1.7.2~ds1", "containerd://1.7.2"],
  ["devel", "containerd://Unknown"],
] as const) {
  test(`[3.8] a runtime of version ${version} is ${want}`, () => {
    assert.equal(runtimeVersion({ ...runtime, version }), want);
  });
}

test("[3.8] a changed boot ID is a reboot, a first one is not", () => {
  const before = nodeInfo(undefined, machineFacts, runtime, agent);
  assert.equal(wasRebooted(before, { ...machineFacts, bootId: "boot-2" }), true);
  assert.equal(wasRebooted(before, machineFacts), false);
  assert.equal(wasRebooted(before, undefined), false);
  assert.equal(wasRebooted(undefined, machineFacts), false);
  assert.equal(wasRebooted({ ...before, bootID: "" }, machineFacts), false);
});

const image = (
  id: string,
  sizeBytes: bigint,
  digests: readonly string[] = [],
  tags: readonly string[] = [],
): Image => ({
  id,
  sizeBytes,
  digests,
  tags,
  pinned: false,
});

test("[3.10] images are sorted by size, then ID, with digests before tags and at most five names", () => {
  const images = [image("a", 1n, ["d"], ["t"]), image("b", 5n, ["d1", "d2", "d3"], ["t1", "t2", "t3"]), image("c", 1n)];
  assert.deepEqual(reportedImages(images, 50), [
    { names: ["d1", "d2", "d3", "t1", "t2"], sizeBytes: 5 },
    { names: [], sizeBytes: 1 },
    { names: ["d", "t"], sizeBytes: 1 },
  ]);
});

test("[3.10] the number of reported images is limited, and -1 reports all", () => {
  const images = Array.from({ length: 60 }, (_, index) => image(`i${index}`, BigInt(index + 1)));
  assert.deepEqual(
    [50, 0, -1].map((max) => reportedImages(images, max).length),
    [50, 0, 60],
  );
});

test("[3.17] runtime handlers are sorted by name with their features; node features are the runtime's", () => {
  const { status } = runtimeAnswered();
  const health = runtimeAnswered({
    status: {
      ...status,
      handlers: [
        { name: "runc", recursiveReadonlyMounts: true, userNamespaces: true },
        { name: "", recursiveReadonlyMounts: true, userNamespaces: false },
        { name: "kata", recursiveReadonlyMounts: false, userNamespaces: false },
      ],
    },
  });
  assert.deepEqual(reportedHandlers(health, undefined), [
    { name: "", features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
    { name: "kata", features: { recursiveReadOnlyMounts: false, userNamespaces: false } },
    { name: "runc", features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
  ]);
  assert.deepEqual(reportedFeatures(health, undefined), { supplementalGroupsPolicy: true });
});

test("[3.17] handlers and features are kept until the runtime answers; a runtime without handlers has none", () => {
  const before = [{ name: "runc" }];
  assert.equal(reportedHandlers(RUNTIME_UNKNOWN, before), before);
  assert.deepEqual(reportedFeatures(RUNTIME_UNKNOWN, { supplementalGroupsPolicy: true }), {
    supplementalGroupsPolicy: true,
  });
  assert.equal(reportedHandlers(runtimeAnswered(), before), undefined);
});

test("[3.18] declared features are the implemented ones, sorted and filtered by their gates", () => {
  const all = [
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
  ];
  assert.deepEqual(declaredFeatures({}), all);
  assert.deepEqual(declaredFeatures({ RestartAllContainersOnContainerExits: false }), all.slice(0, -1));
  const built = { Zebra: true, Ant: true, Later: false };
  assert.deepEqual(declaredFeatures({}, built), ["Ant", "Zebra"]);
  assert.deepEqual(declaredFeatures({ Ant: false }, built), ["Zebra"]);
  assert.equal(declaredFeatures({ NodeDeclaredFeatures: false }, built), undefined);
});
