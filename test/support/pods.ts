/** One-line fixtures: pods, containers, sandboxes and the runtime's statuses of them. */
import type { Container, Pod, PodSpec } from "../../src/api/gen/core-v1.ts";
import type { AdmittedVerdict } from "../../src/domain/admission/verdict.ts";
import { specAllocation } from "../../src/domain/allocation/pod-allocation.ts";
import { containerHash } from "../../src/domain/container-config/container-hash.ts";
import {
  CONTAINER_HASH,
  CONTAINER_NAME_LABEL,
  POD_UID_LABEL,
  RESTART_COUNT,
} from "../../src/domain/container-config/cri-keys.ts";
import type { PodSnapshot } from "../../src/domain/pod/pod-snapshot.ts";
import { type PodContainer, type PodRuntimeView, podView } from "../../src/domain/pod/runtime-view.ts";
import { NOTHING_ACTUATED } from "../../src/domain/resize/actuation.ts";
import type { SandboxStatus } from "../../src/domain/runtime/sandbox.ts";

const UID = "11111111-2222-3333-4444-555555555555";
export const NOW_MS = 1_800_000_000_000;

export const container = (name: string, more: Partial<Container> = {}): Container => ({
  name,
  image: "busybox",
  ...more,
});

export function pod(spec: Partial<PodSpec> = {}, metadata: Pod["metadata"] = {}): Pod {
  return {
    metadata: { name: "p", namespace: "default", uid: UID, ...metadata },
    spec: { containers: [container("app")], restartPolicy: "Always", terminationGracePeriodSeconds: 30, ...spec },
  };
}

/** The verdict on a pod that was allocated what its spec requests. */
export const admittedVerdict = (of: Pod): AdmittedVerdict => ({ kind: "admitted", allocation: specAllocation(of) });

const seconds = (wallMs: number) => BigInt(wallMs) * 1_000_000n;

export function sandbox(more: Partial<SandboxStatus> & { readonly attempt?: number } = {}): SandboxStatus {
  const { attempt = 0, ...rest } = more;
  return {
    id: `sandbox-${attempt}`,
    metadata: { name: "p", namespace: "default", uid: UID, attempt },
    state: "ready",
    createdWallNs: seconds(NOW_MS - 100_000 + attempt),
    labels: { [POD_UID_LABEL]: UID },
    annotations: {},
    runtimeHandler: "",
    ips: ["198.18.0.5"],
    namespaces: { network: "pod", pid: "container", ipc: "pod" },
    ...rest,
  };
}

export interface InstanceOptions {
  readonly restartCount?: number;
  readonly sandboxId?: string;
  readonly exitCode?: number;
  readonly finishedMs?: number;
  readonly startedMs?: number;
  readonly image?: string;
  readonly reason?: string;
}

/** One instance of a container, as the runtime reports it. */
export function instance(name: string, state: PodContainer["state"], options: InstanceOptions = {}): PodContainer {
  const { restartCount = 0, sandboxId = "sandbox-0", exitCode = 0, image = "busybox" } = options;
  const ended = state === "exited";
  return {
    id: `${name}-${restartCount}`,
    sandboxId,
    metadata: { name, attempt: restartCount },
    state,
    createdWallNs: seconds(NOW_MS - 90_000 + restartCount),
    ...(state === "created" ? {} : { startedWallNs: seconds(options.startedMs ?? NOW_MS - 89_000) }),
    ...(ended ? { finishedWallNs: seconds(options.finishedMs ?? NOW_MS - 1_000) } : {}),
    exitCode,
    reason: options.reason ?? (ended ? (exitCode === 0 ? "Completed" : "Error") : ""),
    message: "",
    image: { image },
    imageRef: "sha256:1",
    imageId: "sha256:1",
    labels: { [CONTAINER_NAME_LABEL]: name, [POD_UID_LABEL]: UID },
    annotations: { [CONTAINER_HASH]: containerHash({ name, image }), [RESTART_COUNT]: String(restartCount) },
    mounts: [],
    logPath: "",
  };
}

export const view = (sandboxes: readonly SandboxStatus[], containers: readonly PodContainer[]): PodRuntimeView =>
  podView(UID, sandboxes, containers);

export function snapshot(more: Partial<PodSnapshot> = {}): PodSnapshot {
  return {
    pod: pod(),
    initialStatus: undefined,
    view: view([], []),
    wallMs: NOW_MS,
    monotonicMs: 1_000_000,
    backoffs: new Map(),
    exitSeenMonotonicMs: new Map(),
    knownExits: new Map(),
    restartFloor: new Map(),
    sandboxFloor: 0,
    volumes: "ready",
    postStartDue: new Set(),
    verdicts: new Map(),
    actuated: NOTHING_ACTUATED,
    restartsForResize: new Map(),
    cgroupMissing: false,
    ...more,
  };
}
