/**
 * Rules for node allocatable, images, reservations and the kernel, in the order in which the Go kubelet reports them.
 */

import { parseCpuSet } from "../../base/cpu-set.ts";
import { goQuote } from "../../base/go-text.ts";
import { invalid, named, type Rule, when } from "./rule.ts";

const ENFORCE = named("enforceNodeAllocatable");
const LEVELS = [
  "pods",
  "system-reserved",
  "system-reserved-compressible",
  "kube-reserved",
  "kube-reserved-compressible",
  "none",
] as const;
const LEVELS_TEXT = `${LEVELS.slice(0, -1).map(goQuote).join(", ")} or "none"`;

const allocatable: Rule = ({ config }) => {
  const levels = config.enforceNodeAllocatable;
  const both = (["system", "kube"] as const).flatMap((who) => {
    const pair = [`${who}-reserved`, `${who}-reserved-compressible`];
    return when(
      pair.every((level) => levels.includes(level)),
      `both ${pair.map(goQuote).join(" and ")} cannot be specified together in ${ENFORCE}`,
    );
  });
  const each = levels.flatMap((level, index) => {
    if (levels.indexOf(level) < index) return [invalid(`duplicated enforcements ${goQuote(level)} in ${ENFORCE}`)];
    if (level === "none") {
      return when(levels.length > 1, `${ENFORCE} may not contain additional enforcements when "none" is specified`);
    }
    if (!(LEVELS as readonly string[]).includes(level)) {
      return [invalid(`option ${goQuote(level)} specified for ${ENFORCE}. Valid options are ${LEVELS_TEXT}`)];
    }
    return [
      ...(level.startsWith("system-")
        ? needsCgroup("systemReservedCgroup", "system", config.systemReservedCgroup)
        : []),
      ...(level.startsWith("kube-") ? needsCgroup("kubeReservedCgroup", "kube", config.kubeReservedCgroup) : []),
      ...when(
        !config.cgroupsPerQOS,
        `${named("cgroupsPerQOS")} must be set to true when ${goQuote(level)} contained in ${ENFORCE}`,
      ),
    ];
  });
  return [...both, ...each];
};

const needsCgroup = (path: "systemReservedCgroup" | "kubeReservedCgroup", who: string, cgroup: string) =>
  when(
    cgroup === "",
    `${named(path)} must be specified when "${who}-reserved" or "${who}-reserved-compressible" included in ${ENFORCE}`,
  );

const hairpin: Rule = ({ config: { hairpinMode: mode } }) =>
  when(
    !["none", "hairpin-veth", "promiscuous-bridge"].includes(mode),
    `option ${goQuote(mode)} specified for ${named("hairpinMode")}. Valid options are "none", "hairpin-veth" or "promiscuous-bridge"`,
  );

const VERIFICATION = ["NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify"];

const verification: Rule = ({ config, gates }) => {
  const { imagePullCredentialsVerificationPolicy: policy = "", preloadedImagesVerificationAllowlist: list = [] } =
    config;
  if (!gates.KubeletEnsureSecretPulledImages) {
    const off = "must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled";
    return [
      ...when(policy !== "", `\`imagePullCredentialsVerificationPolicy\` ${off}`),
      ...when(list.length > 0, `\`preloadedImagesVerificationAllowlist\` ${off}`),
    ];
  }
  const [first, ...others] = [...VERIFICATION].toReversed().map(goQuote);
  const fault = list.map(patternFault).find((text) => text !== undefined);
  const misplaced = list.length > 0 && policy !== "NeverVerifyAllowlistedImages";
  return [
    ...when(
      !VERIFICATION.includes(policy),
      `option ${goQuote(policy)} specified for imagePullCredentialsVerificationPolicy. Valid options are ${others.toReversed().join(", ")} or ${first}`,
    ),
    ...when(
      misplaced,
      'can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"',
    ),
    ...when(
      !misplaced && fault !== undefined,
      `invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${fault}`,
    ),
  ];
};

/** An image name without tag or digest, or a prefix that ends in "/*". */
function patternFault(pattern: string): string | undefined {
  if (pattern !== pattern.trim()) return `leading/trailing spaces are not allowed: ${pattern}`;
  const name = pattern.endsWith("/*") ? pattern.slice(0, -1) : pattern;
  if (name === "") return `the supplied pattern is too short: ${pattern}`;
  if (name.includes("*")) return `not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`;
  if (pattern.endsWith("/*")) return name === "/" ? "at least registry hostname is required" : undefined;
  const tagged = name.includes("@") || name.slice(name.lastIndexOf("/") + 1).includes(":");
  return tagged ? `neither tag nor digest is accepted in an image reference: ${pattern}` : undefined;
}

const reservedCpus: Rule = ({ config: { reservedSystemCPUs: cpus, systemReservedCgroup, kubeReservedCgroup } }) => {
  if (cpus === "") return [];
  const parsed = parseCpuSet(cpus);
  return [
    ...when(
      systemReservedCgroup !== "" || kubeReservedCgroup !== "",
      `can't use ${named("reservedSystemCPUs")} with ${named("systemReservedCgroup")} or ${named("kubeReservedCgroup")}`,
    ),
    ...(typeof parsed === "string"
      ? [invalid(`unable to parse ${named("reservedSystemCPUs")} ${cpus}, error: ${parsed}`)]
      : []),
  ];
};

const reservedMemory: Rule = ({ config: { reservedMemory: reservations = [] } }) => {
  const seen = new Set<string>();
  return reservations.flatMap(({ numaNode, limits }) =>
    Object.entries(limits).flatMap(([resource, amount]) => {
      const key = `${numaNode} ${resource}`;
      const repeated = seen.has(key);
      seen.add(key);
      return [
        ...when(
          resource !== "memory" && !resource.startsWith("hugepages-"),
          `the limit type ${goQuote(resource)} for NUMA node ${numaNode} is not supported, only [memory hugepages-<HugePageSize>] is accepted`,
        ),
        ...when(
          amount.nanos === 0n,
          `reserved memory may not be zero for NUMA node ${numaNode} and resource ${goQuote(resource)}`,
        ),
        ...when(
          repeated,
          `the reserved memory has a duplicate value for NUMA node ${numaNode} and resource ${goQuote(resource)}`,
        ),
      ];
    }),
  );
};

const IDS_UNIT = 65_536n;

/** Returns only the first error, since upstream stops there. */
const kernel: Rule = ({ config, cgroupVersion }) => {
  const { failCgroupV1, singleProcessOOMKill, "userNamespaces.idsPerPod": ids = IDS_UNIT } = config;
  const faults = [
    ...(failCgroupV1 && cgroupVersion === 1
      ? [
          "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release",
        ]
      : []),
    ...when(
      cgroupVersion === 1 && singleProcessOOMKill === false,
      "singleProcessOOMKill must not be explicitly set to false when using cgroup v1",
    ),
    ...when(ids < IDS_UNIT, `userNamespaces.idsPerPod must not be less than ${IDS_UNIT}`),
    ...when(ids % IDS_UNIT !== 0n, `userNamespaces.idsPerPod must be a multiple of ${IDS_UNIT}`),
    ...when(ids > 2n ** 32n - 1n, `userNamespaces.idsPerPod must not be more than ${2n ** 32n - 1n}`),
  ];
  return faults.slice(0, 1);
};

export const RESOURCE_RULES: readonly Rule[] = [
  allocatable,
  hairpin,
  verification,
  reservedCpus,
  reservedMemory,
  kernel,
];
