/**
 * The named lists of upstream's node tests, one per feature, made from the tree by labels and, where upstream has no
 * label, by the name of the group. Every test of the tree is in at least one list. A test may be in several.
 */
import type { TreeTest } from "./tree.ts";

export const listNames = [
  "conformance",
  "conformance-serial",
  "conformance-common",
  "eviction",
  "garbage-collection",
  "mirror-pods",
  "restarts",
  "oom",
  "swap",
  "shutdown",
  "image-credentials",
  "cpu-manager",
  "memory-manager",
  "topology-manager",
  "device-plugins",
  "podresources",
  "dra",
  "cri-proxy",
  "standalone",
  "other",
] as const;
export type ListName = (typeof listNames)[number];

type Choice = (test: TreeTest) => boolean;

const labelled =
  (...labels: readonly string[]): Choice =>
  (test) =>
    labels.some((label) => test.labels.includes(label));
const named =
  (expression: RegExp): Choice =>
  ({ name }) =>
    expression.test(name);
const either =
  (...choices: readonly Choice[]): Choice =>
  (test) =>
    choices.some((choice) => choice(test));

/** A serial test changes the kubelet's configuration or takes the node's resources, so it runs alone. */
export const isSerial = labelled("Serial");
const isConformance = labelled("NodeConformance");
/** Tests of test/e2e/common are also tests of test/e2e, and `npm run conformance` runs them in a cluster. */
const isCommon: Choice = ({ file }) => !file.startsWith("e2e_node/");

const CHOICES: Readonly<Record<Exclude<ListName, "other">, Choice>> = {
  conformance: (test) => isConformance(test) && !isCommon(test) && !isSerial(test),
  "conformance-serial": (test) => isConformance(test) && !isCommon(test) && isSerial(test),
  "conformance-common": (test) => isConformance(test) && isCommon(test),
  eviction: labelled("Feature:Eviction"),
  "garbage-collection": named(/\] (?:ImageGarbageCollect|GarbageCollect|ImageGC\w*|KubeletSeparateDiskGC)\b/),
  "mirror-pods": named(/\] (?:MirrorPod\w*|StaticPod)\b/),
  restarts: either(
    named(/\] (?:Restart|Unknown Pods|Container Restart|RestartAllContainers\w*)\b/),
    named(/kubelet restart/i),
  ),
  oom: named(/\bOOMKiller\b/),
  swap: labelled("Feature:NodeSwap"),
  shutdown: labelled("Feature:GracefulNodeShutdown"),
  "image-credentials": either(labelled("FeatureGate:KubeletEnsureSecretPulledImages"), named(/credential/i)),
  "cpu-manager": labelled("Feature:CPUManager"),
  "memory-manager": labelled("Feature:MemoryManager"),
  "topology-manager": labelled("Feature:TopologyManager"),
  "device-plugins": either(labelled("Feature:DevicePlugin", "Feature:DeviceManager"), named(/\] Device Plugin\b/)),
  podresources: named(/\] POD Resources\b/i),
  dra: labelled("Feature:DynamicResourceAllocation"),
  "cri-proxy": labelled("Feature:CriProxy"),
  standalone: labelled("Feature:StandaloneMode"),
};

/** Flags of the program without which the tests of a list skip themselves. */
const FLAGS: Readonly<Partial<Record<ListName, readonly string[]>>> = {
  "cri-proxy": ["--cri-proxy-enabled=true"],
  standalone: ["--standalone-mode=true"],
};

export const flagsOf = (list: ListName | undefined): readonly string[] =>
  list === undefined ? [] : (FLAGS[list] ?? []);

/** The tests of a list, in the order of the tree. */
export const testsOf = (list: ListName, tree: readonly TreeTest[]): readonly TreeTest[] =>
  tree.filter(list === "other" ? isOther : CHOICES[list]);

const isOther: Choice = (test) => !Object.values(CHOICES).some((choice) => choice(test));
