/**
 * What must never happen, whatever happens: checked after every event against the truth of the world, never against what the agent
 * believes. Numbers in brackets are those of the safety list the project holds itself to.
 */
import type { Pod } from "../src/api/gen/core-v1.ts";
import { pods } from "../src/api/resources.ts";
import { CONFIG_SOURCE, isMirrorPod } from "../src/domain/pod/pod-identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import type { ContainerRecord } from "./fake-runtime/records.ts";
import type { SimNode } from "./sim-node.ts";
import { VolumeOracle } from "./volume-oracle.ts";
import type { World } from "./world.ts";

const POD_KIND = kindOf(pods);
const PHASES = ["Pending", "Running", "Succeeded", "Failed"];
/** A call that was on its way when its pod went takes effect within this. */
const IN_FLIGHT_MS = 2_000;

interface KnownPod {
  readonly pod: Pod;
  goneAtMs: number | undefined;
  terminalAtMs: number | undefined;
}

export class Oracle {
  readonly violations: string[] = [];
  readonly #world: World;
  readonly #node: SimNode;
  readonly #pods = new Map<string, KnownPod>();
  /** Container ids whose start was seen. */
  readonly #started = new Map<string, ContainerRecord>();
  readonly #told = new Set<string>();
  /** UIDs that a user removed without grace: their end is not the node's to order. */
  readonly forced = new Set<string>();
  readonly volumes: VolumeOracle;

  constructor(world: World, node: SimNode) {
    this.#world = world;
    this.#node = node;
    this.volumes = new VolumeOracle({
      node,
      podOf: (uid) => this.#pods.get(uid)?.pod,
      isGone: (uid) => this.#pods.get(uid)?.goneAtMs !== undefined,
      violation: (text) => this.#violation(text),
    });
  }

  check(): void {
    this.#checkPods();
    this.volumes.check();
    this.#checkStarts();
    this.#checkRunning();
    this.#checkAddresses();
    this.#checkPulls();
  }

  /** How often each container of a pod was started. */
  starts(uid: string): number {
    return [...this.#started.values()].filter((record) => uidOf(record) === uid).length;
  }

  #violation(text: string): void {
    if (this.#told.has(text)) return;
    this.#told.add(text);
    this.violations.push(`${this.#world.clock.monotonicMs()} ms: ${text}`);
  }

  /** [8] What is published only moves forward, and [7] an object goes only when nothing of it is left. */
  #checkPods(): void {
    const nowMs = this.#world.clock.monotonicMs();
    const present = new Set<string>();
    for (const object of this.#world.api.store.values(POD_KIND)) {
      const pod = object as unknown as Pod;
      const uid = pod.metadata?.uid ?? "";
      present.add(uid);
      if (isMirrorPod(pod)) continue;
      const known = this.#pods.get(uid);
      if (known?.pod === pod) continue;
      if (known !== undefined) this.#checkStep(known.pod, pod);
      const terminal = pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
      this.#pods.set(uid, {
        pod,
        goneAtMs: undefined,
        terminalAtMs: known?.terminalAtMs ?? (terminal ? nowMs : undefined),
      });
    }
    for (const [uid, known] of this.#pods) {
      if (present.has(uid) || known.goneAtMs !== undefined) continue;
      known.goneAtMs = nowMs;
      if (!this.forced.has(uid)) this.#checkRemoval(uid, known.pod);
    }
  }

  #checkStep(before: Pod, after: Pod): void {
    const name = after.metadata?.name ?? "";
    const [from, to] = [before.status?.phase ?? "Pending", after.status?.phase ?? "Pending"];
    if (from !== to && (PHASES.indexOf(to) < PHASES.indexOf(from) || from === "Succeeded")) {
      this.#violation(`[8] ${name}: phase went from ${from} to ${to}`);
    }
    const isReady = (pod: Pod) =>
      pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
    if ((to === "Succeeded" || to === "Failed") && isReady(after)) this.#violation(`[8] ${name}: ${to} and Ready`);
    for (const status of after.status?.containerStatuses ?? []) {
      const old = before.status?.containerStatuses?.find((candidate) => candidate.name === status.name);
      if (old !== undefined && status.restartCount < old.restartCount) {
        this.#violation(
          `[8] ${name}/${status.name}: restart count went from ${old.restartCount} to ${status.restartCount}`,
        );
      }
    }
    this.#checkExitCodes(after);
    if (isReady(before) && !isReady(after)) this.#checkFlip(after);
  }

  /** [8] An exit code is the runtime's, or says that it is unknown. */
  #checkExitCodes(pod: Pod): void {
    for (const { state, lastState, name } of pod.status?.containerStatuses ?? []) {
      for (const ended of [state?.terminated, lastState?.terminated]) {
        const record = this.#started.get((ended?.containerID ?? "").replace(/^.*:\/\//, ""));
        if (ended === undefined || record === undefined || record.state !== "exited") continue;
        if (record.exitCode !== ended.exitCode) {
          this.#violation(
            `[8] ${pod.metadata?.name}/${name}: published exit code ${ended.exitCode}, the runtime says ${record.exitCode}`,
          );
        }
      }
    }
  }

  /** [8] Ready goes away only with a container, or with the pod. */
  #checkFlip(pod: Pod): void {
    const uid = pod.metadata?.uid ?? "";
    if (pod.metadata?.deletionTimestamp !== undefined) return;
    const running = this.#runningOf(uid).length;
    if (running >= (pod.spec?.containers.length ?? 0))
      this.#violation(`[8] ${pod.metadata?.name}: Ready was taken away though all its containers run`);
  }

  #checkRemoval(uid: string, pod: Pod): void {
    const name = pod.metadata?.name ?? "";
    if (this.#runningOf(uid).length > 0) this.#violation(`[7] ${name}: removed from the API while a container runs`);
    if (this.#readySandboxesOf(uid) > 0)
      this.#violation(`[7] ${name}: removed from the API while its sandbox is ready`);
    const phase = pod.status?.phase;
    if (phase !== "Succeeded" && phase !== "Failed")
      this.#violation(`[7] ${name}: removed from the API in phase ${phase}`);
    if (this.#node.cgroups.has(`pod${uid}`))
      this.#violation(`[7] ${name}: removed from the API while its cgroup is there`);
    for (const what of this.volumes.remainsOf(uid))
      this.#violation(`[7] ${name}: removed from the API while ${what} is there`);
  }

  /** [2] Nothing starts for a pod that is over, and a policy is kept across every death of the agent. */
  #checkStarts(): void {
    const nowMs = this.#world.clock.monotonicMs();
    for (const record of this.#node.runtime.containers.values()) {
      if (record.startedWallNs === undefined || this.#started.has(record.id)) continue;
      const uid = uidOf(record);
      const known = this.#pods.get(uid);
      const what = `${record.config.metadata.name} of ${known?.pod.metadata?.name ?? uid}`;
      if (known?.terminalAtMs !== undefined && nowMs > known.terminalAtMs)
        this.#violation(`[2] ${what} started after its end was published`);
      if (known?.goneAtMs !== undefined && nowMs > known.goneAtMs + IN_FLIGHT_MS)
        this.#violation(`[2] ${what} started though its pod is gone`);
      this.#checkPolicy(record, known?.pod, what);
      this.#started.set(record.id, record);
    }
  }

  #checkPolicy(record: ContainerRecord, pod: Pod | undefined, what: string): void {
    const before = [...this.#started.values()].filter(
      (other) => uidOf(other) === uidOf(record) && other.config.metadata.name === record.config.metadata.name,
    );
    const policy = pod?.spec?.restartPolicy ?? "Always";
    if (policy === "Never" && before.length > 0) this.#violation(`[2] ${what} ran again under Never`);
    if (policy === "OnFailure" && before.some(({ state, exitCode }) => state === "exited" && exitCode === 0)) {
      this.#violation(`[2] ${what} ran again though it had succeeded`);
    }
  }

  /** [1] One instance of a container, one ready sandbox of a pod; [5] one static pod of a name. */
  #checkRunning(): void {
    const instances = new Map<string, number>();
    const names = new Map<string, Set<string>>();
    for (const record of this.#node.runtime.containers.values()) {
      if (record.process === undefined || !isRunning(record)) continue;
      const { name, namespace, uid } = sandboxOf(this.#node, record);
      count(instances, `container ${record.config.metadata.name} of ${name}`, uid);
      // Pods of the API server are told apart by their UIDs alone: the old may be ending while the new begins.
      if (!isStatic(this.#node, record)) continue;
      const fullName = `${namespace}/${name}`;
      names.set(fullName, (names.get(fullName) ?? new Set()).add(uid));
    }
    for (const [what, number] of instances)
      if (number > 1) this.#violation(`[1] ${number} running instances of ${what}`);
    for (const [name, uids] of names)
      if (uids.size > 1) this.#violation(`[5] ${uids.size} pods named ${name} run at once`);
    const ready = new Map<string, number>();
    for (const { state, config } of this.#node.runtime.sandboxes.values()) {
      if (state === "ready") count(ready, config.metadata.name, config.metadata.uid);
    }
    for (const [what, number] of ready) if (number > 1) this.#violation(`[1] ${number} ready sandboxes of ${what}`);
  }

  /** [9] No address without a sandbox. */
  #checkAddresses(): void {
    const { addresses, sandboxes } = this.#node.runtime;
    if (addresses.size > sandboxes.size)
      this.#violation(`[9] ${addresses.size} addresses for ${sandboxes.size} sandboxes`);
  }

  /** [28] What is being pulled is not pulled a second time. */
  #checkPulls(): void {
    for (const [what, count] of this.#node.runtime.images.pulling)
      if (count > 1) this.#violation(`[28] ${count} pulls at once of ${what.split(" ", 1)[0]}`);
  }

  #runningOf(uid: string): readonly ContainerRecord[] {
    return [...this.#node.runtime.containers.values()].filter((record) => uidOf(record) === uid && isRunning(record));
  }

  #readySandboxesOf(uid: string): number {
    return [...this.#node.runtime.sandboxes.values()].filter(
      ({ state, config }) => state === "ready" && config.metadata.uid === uid,
    ).length;
  }
}

const uidOf = (record: ContainerRecord): string => record.config.labels?.["io.kubernetes.pod.uid"] ?? "";
const isRunning = ({ state }: ContainerRecord): boolean => state === "running" || state === "unknown";
const sandboxOf = (node: SimNode, record: ContainerRecord) =>
  node.runtime.sandboxes.get(record.sandboxId)?.config.metadata ?? { name: "?", namespace: "?", uid: uidOf(record) };

const isStatic = (node: SimNode, record: ContainerRecord): boolean =>
  node.runtime.sandboxes.get(record.sandboxId)?.config.annotations?.[CONFIG_SOURCE] !== "api";

function count(counts: Map<string, number>, what: string, uid: string): void {
  const key = `${what} (${uid})`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
