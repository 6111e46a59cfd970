/**
 * Features that the configuration enables, by default or not, and that this version does not have. `config check`,
 * `doctor` and the log of every start name them.
 */
import type { FeatureGates } from "./feature-gates.ts";
import type { Configuration, FieldPath } from "./fields.ts";

interface Feature {
  /** What the node does without it. */
  readonly consequence: string;
  /** The fields that enable it; none: it cannot be disabled. */
  readonly fields: readonly FieldPath[];
  readonly isOn: (config: Configuration, gates: FeatureGates) => boolean;
}

const isFilled = (table: object | undefined): boolean => Object.keys(table ?? {}).length > 0;

const FEATURES: Readonly<Record<string, Feature>> = {
  "CSI volumes and device plugins": {
    consequence: "a pod that uses a CSI volume waits, and no extended resource is registered",
    fields: [],
    isOn: () => true,
  },
  "attached volumes": {
    consequence: "a pod whose volume has to be attached does not start",
    fields: ["enableControllerAttachDetach"],
    isOn: ({ enableControllerAttachDetach }) => enableControllerAttachDetach,
  },
  "verification of pull credentials": {
    consequence:
      "a pod may run an image that is on this node because of another pod's pull secret, unless its imagePullPolicy is Always",
    fields: ["imagePullCredentialsVerificationPolicy"],
    isOn: ({ imagePullCredentialsVerificationPolicy: policy }, { KubeletEnsureSecretPulledImages: isGateOn }) =>
      isGateOn && policy !== "NeverVerify",
  },
  "the node's log files": {
    consequence: "/logs/ answers 405",
    fields: ["enableSystemLogHandler"],
    isOn: ({ enableSystemLogHandler, enableDebuggingHandlers }) => enableSystemLogHandler && enableDebuggingHandlers,
  },
  "dynamic resource allocation": {
    consequence: "a pod with resourceClaims is rejected",
    fields: ["featureGates"],
    isOn: (_, { DynamicResourceAllocation }) => DynamicResourceAllocation,
  },
  "graceful shutdown of the node": {
    consequence: "a shutdown of the machine does not wait for pods",
    fields: ["shutdownGracePeriod", "shutdownGracePeriodByPodPriority"],
    isOn: ({ shutdownGracePeriod, shutdownGracePeriodByPodPriority: byPriority }) =>
      shutdownGracePeriod > 0n || isFilled(byPriority),
  },
  "the CPU manager": {
    consequence: "no container has CPUs for itself",
    fields: ["cpuManagerPolicy"],
    isOn: ({ cpuManagerPolicy }) => cpuManagerPolicy !== "none",
  },
  "the memory manager": {
    consequence: "no container has memory of one NUMA node for itself",
    fields: ["memoryManagerPolicy"],
    isOn: ({ memoryManagerPolicy }) => memoryManagerPolicy !== "None",
  },
  "the topology manager": {
    consequence: "devices and CPUs are not aligned",
    fields: ["topologyManagerPolicy"],
    isOn: ({ topologyManagerPolicy }) => topologyManagerPolicy !== "none",
  },
};

export const unimplementedFeatures = (config: Configuration, gates: FeatureGates): readonly string[] =>
  Object.entries(FEATURES).flatMap(([name, { consequence, fields, isOn }]) =>
    isOn(config, gates) ? [`${name}${fields.length === 0 ? "" : ` (${fields.join(", ")})`}: ${consequence}`] : [],
  );
