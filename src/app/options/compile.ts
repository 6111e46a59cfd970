/** Compiles configuration and flags into the settings that the agent runs on. Throws if a value cannot be used. */

import { isIP } from "node:net";
import { resolve } from "node:path";
import { parseCpuSet } from "../../base/cpu-set.ts";
import { DurationError, formatGoDuration } from "../../base/duration.ts";
import { errorText } from "../../base/error-text.ts";
import { goQuote } from "../../base/go-text.ts";
import { parseQuantity, QuantityError, quantityValue } from "../../base/quantity.ts";
import { unsafeSysctlsFault } from "../../domain/admission/sysctls.ts";
import { IDS_UNIT } from "../../domain/container-config/user-namespace.ts";
import { MEMORY_SIGNALS, type MemorySignal } from "../../domain/eviction/memory-signal.ts";
import type { ContainerGcPolicy } from "../../domain/housekeeping/container-gc.ts";
import { parseQosReserved, QosReservedError } from "../../domain/resources/qos-reserve.ts";
import { AGENT_FLAGS, type AgentFlagName } from "./agent-flags.ts";
import { CompileFault } from "./compile-fault.ts";
import type {
  ApiSettings,
  CgroupSettings,
  CompiledOptions,
  ContainerLogSettings,
  EvictionSettings,
  IdentitySettings,
  ImageSettings,
  ManagerSettings,
  NodeSettings,
  PodSettings,
  Reservation,
  ReservedSettings,
} from "./compiled-options.ts";
import type { EffectiveConfiguration } from "./effective-configuration.ts";
import { parseReclaims, parseSoftThresholds, parseThresholds, ThresholdFault } from "./eviction-thresholds.ts";
import type { FeatureGates } from "./feature-gates.ts";
import type { Configuration } from "./fields.ts";
import type { MachineOfOptions } from "./machine-facts.ts";
import type { ParsedFlags } from "./parse-flags.ts";
import { serverOf } from "./server-settings.ts";
import { toMs, type Value } from "./value-types.ts";

export interface Compilable {
  readonly config: Configuration;
  readonly gates: FeatureGates;
  readonly agent: AgentSettings;
  readonly machine: MachineOfOptions;
  readonly origins: EffectiveConfiguration["origins"];
}

export function compile(from: Compilable): Omit<CompiledOptions, "warnings" | "notImplemented" | "flags"> {
  const { config, gates, agent } = from;
  return {
    compatibility: isStrict(agent)
      ? { undecidedPods: { kind: "decide", afterMs: UNDECIDED_MS }, misconfigurationIsFatal: true }
      : { undecidedPods: { kind: "wait" }, misconfigurationIsFatal: false },
    node: nodeOf(from),
    directories: {
      root: resolve(agent.text("root-dir")),
      certificates: resolve(agent.text("cert-dir")),
      podLogs: config.podLogsDir,
    },
    api: apiOf(config, agent),
    identity: identityOf(from),
    runtime: {
      endpoint: config.containerRuntimeEndpoint,
      imageEndpoint: config.imageServiceEndpoint || config.containerRuntimeEndpoint,
      requestLimitMs: toMs(config.runtimeRequestTimeout),
    },
    images: imagesOf(from),
    pods: podsOf(config),
    cgroups: cgroupsOf(from),
    managers: managersOf(from),
    reserved: reservedOf(config),
    eviction: evictionOf(config, agent),
    stats: {
      volumesEveryMs: toMs(config.volumeStatsAggPeriod),
      groups: { kubelet: config.kubeletCgroups, runtime: agent.text("runtime-cgroups"), misc: config.systemCgroups },
    },
    containerGc: containerGcOf(agent),
    containerLogs: containerLogsOf(config),
    healthz:
      config.healthzPort > 0
        ? { kind: "on", address: config.healthzBindAddress, port: config.healthzPort }
        : { kind: "off" },
    logging: loggingOf(config),
    tracing: tracingOf(config),
    server: serverOf(config, gates),
    handoverLock:
      agent.text("lock-file") === ""
        ? undefined
        : { path: resolve(agent.text("lock-file")), endsWhenWanted: agent.value("exit-on-lock-contention", false) },
    gates,
    configuration: config,
  };
}

/** More than the first list of RuntimeClasses or the first report of a Node's status takes. */
const UNDECIDED_MS = 5_000;

/** Whether the agent does as the Go kubelet does where the two differ in what --deckhand-compatibility decides. */
function isStrict(agent: AgentSettings): boolean {
  const compatibility = agent.text("deckhand-compatibility");
  if (compatibility !== "strict" && compatibility !== "enhanced") {
    throw new CompileFault(
      `invalid --deckhand-compatibility ${goQuote(compatibility)}, expected "strict" or "enhanced"`,
    );
  }
  return compatibility === "strict";
}

/** Flags without a configuration field, with their defaults. */
export class AgentSettings {
  readonly #given: ParsedFlags["agent"];

  constructor(given: ParsedFlags["agent"]) {
    this.#given = given;
  }

  text(name: AgentFlagName): string {
    return this.value(name, AGENT_FLAGS[name].initial);
  }

  value<T extends Value>(name: AgentFlagName, initial: T): T {
    return (this.#given.get(name) as T | undefined) ?? initial;
  }
}

function nodeOf({ config, agent, machine }: Compilable): NodeSettings {
  const name = (agent.text("hostname-override") || machine.hostname).trim().toLowerCase();
  if (name === "") throw new CompileFault("empty hostname is invalid");
  const cloud = agent.text("cloud-provider");
  if (cloud !== "" && cloud !== "external") {
    throw new CompileFault(
      `cloud provider ${goQuote(cloud)} was specified, but built-in cloud providers are disabled. Please set --cloud-provider=external and migrate to an external cloud provider`,
    );
  }
  return {
    name,
    ips: nodeIps(agent.text("node-ip")),
    externalCloud: cloud === "external",
    labels: agent.value<Readonly<Record<string, string>>>("node-labels", {}),
    taints: config.registerWithTaints ?? [],
    register: config.registerNode,
    providerId: config.providerID,
    podsMax: config.maxPods,
    podsPerCore: config.podsPerCore,
    podCidr: config.podCIDR,
    statusEveryMs: toMs(config.nodeStatusUpdateFrequency),
    reportEveryMs: toMs(config.nodeStatusReportFrequency),
    leaseDurationSeconds: config.nodeLeaseDurationSeconds,
    imagesMax: config.nodeStatusMaxImages,
    localStorage: config.localStorageCapacityIsolation,
    controllerAttach: config.enableControllerAttachDetach,
  };
}

/** Skips entries that are not IP addresses, as upstream does with a log line. */
function nodeIps(text: string): readonly string[] {
  const ips = text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => isIP(item) !== 0);
  const fault = (why: string) => new CompileFault(`bad --node-ip ${goQuote(text)}: ${why}`);
  if (ips.length > 2) throw fault("must contain either a single IP or a dual-stack pair of IPs");
  if (ips.length === 2 && isIP(ips[0] ?? "") === isIP(ips[1] ?? "")) {
    throw fault("must contain either a single IP or a dual-stack pair of IPs");
  }
  if (ips.length === 2 && ips.some((ip) => ip === "0.0.0.0" || ip === "::")) {
    throw fault("dual-stack node IP cannot include '0.0.0.0' or '::'");
  }
  return ips;
}

/** client-go treats a rate of zero as unset and uses this one. */
const UNSAID_REQUESTS_PER_SECOND = 5;

function apiOf(config: Configuration, agent: AgentSettings): ApiSettings {
  const kubeconfigPath = agent.text("kubeconfig");
  if (kubeconfigPath === "") return { kind: "standalone" };
  const leaseMs = config.nodeLeaseDurationSeconds * 1000;
  return {
    kind: "cluster",
    kubeconfigPath: resolve(kubeconfigPath),
    requestsPerSecond: config.kubeAPIQPS === 0 ? UNSAID_REQUESTS_PER_SECOND : config.kubeAPIQPS,
    burst: config.kubeAPIBurst,
    eventsPerSecond: config.eventRecordQPS,
    eventBurst: config.eventBurst,
    heartbeatLimitMs: Math.min(toMs(config.nodeStatusUpdateFrequency), leaseMs),
  };
}

function identityOf({ config, gates, agent }: Compilable): IdentitySettings {
  const bootstrap = agent.text("bootstrap-kubeconfig");
  const { tlsCertFile: certificate, tlsPrivateKeyFile: key } = config;
  const files = certificate === "" || key === "" ? undefined : { certificate, key };
  const fallback = agent.value("deckhand-serving-fallback", true);
  const reload = gates.ReloadKubeletServerCertificateFile;
  return {
    bootstrapKubeconfigPath: bootstrap === "" ? "" : resolve(bootstrap),
    rotates: config.rotateCertificates,
    serving: config.serverTLSBootstrap
      ? { kind: "cluster", files, dnsIsEnough: gates.AllowDNSOnlyNodeCSR, fallback }
      : files === undefined
        ? { kind: "selfSigned", reload }
        : { kind: "files", files, reload },
  };
}

function podsOf(config: Configuration): PodSettings {
  const { staticPodPath: path, staticPodURL: url, allowedUnsafeSysctls } = config;
  const fault = unsafeSysctlsFault(allowedUnsafeSysctls ?? []);
  if (fault !== undefined) throw new CompileFault(`failed to create kubelet: ${fault}`);
  return {
    syncEveryMs: toMs(config.syncFrequency),
    staticDirectory: path === "" ? undefined : { path, everyMs: toMs(config.fileCheckFrequency) },
    staticUrl:
      url === ""
        ? undefined
        : { url, everyMs: toMs(config.httpCheckFrequency), headers: config.staticPodURLHeader ?? {} },
    restartBackoffMsMax: toMs(config["crashLoopBackOff.maxContainerRestartPeriod"] ?? 300_000_000_000n),
    seccompDefault: config.seccompDefault,
    allowedUnsafeSysctls: allowedUnsafeSysctls ?? [],
    idsPerPod: Number(config["userNamespaces.idsPerPod"] ?? IDS_UNIT),
    clusterDomain: config.clusterDomain,
    clusterDns: config.clusterDNS ?? [],
    resolvConf: config.resolvConf,
  };
}

/**
 * Applies with --deckhand-compatibility=enhanced if serializeImagePulls is unset. Upstream pulls one image at a time
 * then, and one big image holds up all others.
 */
const ENHANCED_PULLS_MAX = 5;

function imagesOf({ config, machine, origins, agent }: Compilable): ImageSettings {
  const { serializeImagePulls, maxParallelImagePulls: most, registryPullQPS, registryBurst } = config;
  const isSaid = isStrict(agent) || (origins.get("serializeImagePulls") ?? []).length > 0;
  const unsaid = isSaid ? Number.POSITIVE_INFINITY : ENHANCED_PULLS_MAX;
  return {
    pulls: {
      most: isSaid && serializeImagePulls ? 1 : (most ?? unsaid),
      perSecond: registryPullQPS,
      burst: registryBurst,
    },
    gc: {
      highPercent: config.imageGCHighThresholdPercent,
      lowPercent: config.imageGCLowThresholdPercent,
      ageMsMin: toMs(config.imageMinimumGCAge),
      ageMsMax: toMs(config.imageMaximumGCAge),
      keep: agent.value<readonly string[]>("deckhand-image-gc-keep", []),
      keepUnreachable: agent.value("deckhand-image-gc-keep-unreachable", false),
    },
    workingDirectory: machine.workingDirectory,
    homeDirectory: machine.homeDirectory,
  };
}

function cgroupsOf({ config, gates, machine: { cgroupVersion } }: Compilable): CgroupSettings {
  const { cgroupDriver: driver, cgroupsPerQOS: perQos } = config;
  if (driver !== "cgroupfs" && driver !== "systemd") {
    throw new CompileFault(`invalid cgroup driver ${goQuote(driver)}, expected "cgroupfs" or "systemd"`);
  }
  if (cgroupVersion === 1 && config["memorySwap.swapBehavior"] === "LimitedSwap") {
    throw new CompileFault("swap feature is enabled and LimitedSwap but it is only supported with cgroupv2");
  }
  const reservedMemory = qosReservedOf(config.qosReserved ?? {});
  return {
    version: cgroupVersion,
    driver,
    root: config.cgroupRoot === "" && perQos ? "/" : config.cgroupRoot,
    perQos,
    enforced: new Set(config.enforceNodeAllocatable.filter((level) => level !== "none")),
    cpuQuota: config.cpuCFSQuota,
    cpuQuotaPeriodMs: toMs(config.cpuCFSQuotaPeriod),
    podPidsMax: config.podPidsLimit,
    singleProcessOomKill: config.singleProcessOOMKill ?? cgroupVersion === 1,
    failSwapOn: config.failSwapOn,
    memoryQos:
      gates.MemoryQoS && cgroupVersion === 2
        ? {
            tiered: config.memoryReservationPolicy === "TieredReservation",
            throttlingFactor: config.memoryThrottlingFactor,
          }
        : undefined,
    qosReservedMemory: gates.QOSReserved ? reservedMemory : undefined,
    oomScoreAdj: config.oomScoreAdj,
  };
}

/** The setting must be valid even without its gate. */
function qosReservedOf(written: Readonly<Record<string, string>>): bigint | undefined {
  try {
    return parseQosReserved(written);
  } catch (error) {
    if (!(error instanceof QosReservedError)) throw error;
    throw new CompileFault(`--qos-reserved value failed to parse: ${error.message}`, { cause: error });
  }
}

/**
 * With these gates a manager may change a running pod's share, so it does not block a resize: it counts as policy none.
 */
function managersOf({ config, gates }: Compilable): ManagerSettings {
  return {
    cpuManagerPolicy: gates.InPlacePodVerticalScalingExclusiveCPUs ? "none" : config.cpuManagerPolicy,
    memoryManagerPolicy: gates.InPlacePodVerticalScalingExclusiveMemory ? "None" : config.memoryManagerPolicy,
    limitedSwap: config["memorySwap.swapBehavior"] === "LimitedSwap",
  };
}

/** A set of reserved CPUs is reserved for the system and replaces the CPU amounts of both reservations. */
function reservedOf(config: Configuration): ReservedSettings {
  const parsed = parseCpuSet(config.reservedSystemCPUs);
  if (typeof parsed === "string") throw new CompileFault(`unable to parse reserved-cpus list: ${parsed}`);
  const withoutCpu = (all: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(all).filter(([resource]) => resource !== "cpu"));
  const [kube, system] = [config.kubeReserved ?? {}, config.systemReserved ?? {}];
  const pinned = parsed.size > 0;
  return {
    kube: reservation("--kube-reserved", pinned ? withoutCpu(kube) : kube),
    system: reservation("--system-reserved", pinned ? { ...system, cpu: String(parsed.size) } : system),
    kubeCgroup: config.kubeReservedCgroup,
    systemCgroup: config.systemReservedCgroup,
    cpus: parsed,
    cpusText: config.reservedSystemCPUs,
  };
}

const RESERVABLE: readonly string[] = ["cpu", "memory", "ephemeral-storage", "pid"];

function reservation(flag: string, written: Readonly<Record<string, string>>): Reservation {
  const fault = (why: string, cause?: unknown) => new CompileFault(`${flag} value failed to parse: ${why}`, { cause });
  return Object.fromEntries(
    Object.entries(written).map(([resource, text]) => {
      if (!RESERVABLE.includes(resource)) throw fault(`cannot reserve ${goQuote(resource)} resource`);
      try {
        const amount = parseQuantity(text);
        if (amount.nanos >= 0n) return [resource, amount] as const;
      } catch (error) {
        const why = errorText(error);
        throw fault(`failed to parse quantity ${goQuote(text)} for ${goQuote(resource)} resource: ${why}`, error);
      }
      throw fault(`resource quantity for ${goQuote(resource)} cannot be negative: ${text}`);
    }),
  );
}

function evictionOf(config: Configuration, agent: AgentSettings): EvictionSettings {
  try {
    return {
      minReclaims: parseReclaims(config.evictionMinimumReclaim ?? {}),
      hard: parseThresholds(config.evictionHard ?? {}),
      soft: parseSoftThresholds(config.evictionSoft ?? {}, config.evictionSoftGracePeriod ?? {}),
      maxPodGraceSeconds: config.evictionMaxPodGracePeriod,
      memorySignal: memorySignalOf(agent),
      conditionHoldMs: toMs(config.evictionPressureTransitionPeriod),
      outOfAllocatable: !agent.value("experimental-allocatable-ignore-eviction", false),
    };
  } catch (error) {
    const known = error instanceof ThresholdFault || error instanceof QuantityError || error instanceof DurationError;
    throw known ? new CompileFault(error.message, { cause: error }) : error;
  }
}

function containerGcOf(agent: AgentSettings): ContainerGcPolicy {
  const age = agent.value("minimum-container-ttl-duration", 0n);
  if (age < 0n)
    throw new CompileFault(
      `failed to create kubelet: invalid minimum garbage collection age: ${formatGoDuration(age)}`,
    );
  return {
    ageMsMin: toMs(age),
    perContainerMax: agent.value("maximum-dead-containers-per-container", 1),
    nodeMax: agent.value("maximum-dead-containers", -1),
  };
}

function memorySignalOf(agent: AgentSettings): MemorySignal {
  const signal = agent.text("deckhand-memory-signal");
  const known = MEMORY_SIGNALS.find((one) => one === signal);
  if (known !== undefined) return known;
  const expected = MEMORY_SIGNALS.map((one) => goQuote(one)).join(" or ");
  throw new CompileFault(`invalid --deckhand-memory-signal ${goQuote(signal)}, expected ${expected}`);
}

const INT64_MAX = 2n ** 63n - 1n;

function containerLogsOf(config: Configuration): ContainerLogSettings {
  const fault = (why: string, cause?: unknown) =>
    new CompileFault(`failed to initialize container log manager: ${why}`, { cause });
  const text = goQuote(config.containerLogMaxSize);
  const unparsed = `failed to parse container log max size ${text}`;
  try {
    const size = parseQuantity(config.containerLogMaxSize);
    const bytes = quantityValue(size);
    if (size.nanos % 1_000_000_000n !== 0n || bytes > INT64_MAX) throw fault(`${unparsed}: invalid max log size`);
    if (bytes < 0n) return { kind: "unlimited" };
    return {
      kind: "limited",
      bytesMax: Number(bytes),
      filesMax: config.containerLogMaxFiles,
      workersMax: config.containerLogMaxWorkers,
      everyMs: toMs(config.containerLogMonitorInterval),
    };
  } catch (error) {
    throw error instanceof QuantityError ? fault(`${unparsed}: ${error.message}`, error) : error;
  }
}

/** Default endpoint of the trace collector. */
const UNSAID_COLLECTOR = "localhost:4317";

function tracingOf(config: Configuration): CompiledOptions["tracing"] {
  const { "tracing.endpoint": endpoint, "tracing.samplingRatePerMillion": perMillion } = config;
  if (endpoint === undefined && perMillion === undefined) return { kind: "off" };
  // Without a rate only traces that other components have started are recorded.
  return { kind: "on", endpoint: endpoint ?? UNSAID_COLLECTOR, perMillion: perMillion ?? 0 };
}

const loggingOf = (config: Configuration): CompiledOptions["logging"] => {
  const format = config["logging.format"] === "json" ? "json" : "text";
  return {
    format,
    verbosity: config["logging.verbosity"],
    modules: config["logging.vmodule"] ?? [],
    flushEveryMs: toMs(config["logging.flushFrequency"]),
    splitStream: config[`logging.options.${format}.splitStream`],
  };
};
