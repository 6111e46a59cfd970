/**
 * Invariants that must hold whatever happens. They are checked after every event against the actual state of the world,
 * never against what the agent believes. Numbers in brackets are those of the safety list the project holds itself to.
 */
import type { Pod } from "../src/api/gen/core-v1.ts";
import { pods } from "../src/api/resources.ts";
import { containerNamed } from "../src/domain/pod/containers.ts";
import { CONFIG_HASH, CONFIG_MIRROR, CONFIG_SOURCE, isMirrorPod } from "../src/domain/pod/pod-identity.ts";
import { hasProbe, probedContainers } from "../src/domain/probes/probe-spec.ts";
import { EvictionOracle } from "./eviction-oracle.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { isWell } from "./fake-runtime/behaviour.ts";
import type { ContainerRecord } from "./fake-runtime/records.ts";
import { FaultLog } from "./fault-log.ts";
import { ForeignOracle } from "./foreign-oracle.ts";
import { ImageOracle } from "./image-oracle.ts";
import { JournalTail } from "./journal-tail.ts";
import { JournaledPods } from "./journaled-pods.ts";
import { LifecycleOracle } from "./lifecycle-oracle.ts";
import { MirrorOracle } from "./mirror-oracle.ts";
import { NodeOracle } from "./node-oracle.ts";
import { ResizeOracle } from "./resize-oracle.ts";
import type { SimNode } from "./sim-node.ts";
import { IN_FLIGHT_MS, StartOracle } from "./start-oracle.ts";
import type { Situation } from "./swarm/coverage.ts";
import { VolumeOracle } from "./volume-oracle.ts";
import type { World } from "./world.ts";

const POD_KIND = kindOf(pods);
/** How the status message of a rejected pod begins. */
const REJECTED = "Pod was rejected: ";
const PHASES = ["Pending", "Running", "Succeeded", "Failed"];
/** Health that a container reported longer ago no longer justifies a change. */
const HEALTH_MS = 60_000;

interface KnownPod {
  readonly pod: Pod;
  readonly createdAtMs: number;
  goneAtMs: number | undefined;
  terminalAtMs: number | undefined;
  /** When a user requested the pod's deletion. */
  deletedAtMs: number | undefined;
}

export class Oracle {
  readonly violations: string[] = [];
  readonly #world: World;
  readonly #node: SimNode;
  readonly #pods = new Map<string, KnownPod>();
  /** Containers whose start was observed, by ID. */
  readonly #started = new Map<string, ContainerRecord>();
  /** Manifest hashes of static pods, by the same container IDs. */
  readonly #manifestHashes = new Map<string, string>();
  readonly #reported = new Set<string>();
  readonly #journal: JournalTail;
  readonly #journaled = new JournaledPods();
  /** Records that were read. They appear again when the journal is compacted. */
  readonly #read = new Set<string>();
  readonly #health = new Map<string, { readonly wellMs: number | undefined; readonly unwellMs: number | undefined }>();
  /** UIDs that a user removed without grace: the node does not control how they end. */
  readonly forced = new Set<string>();
  /** The faults that really happened on the node. */
  readonly faults: FaultLog;
  readonly foreign: ForeignOracle;
  readonly #ownNode: NodeOracle;
  readonly volumes: VolumeOracle;
  readonly begins: StartOracle;
  readonly lifecycle: LifecycleOracle;
  readonly resizes: ResizeOracle;
  readonly evictions: EvictionOracle;
  readonly images: ImageOracle;
  readonly #mirrors: MirrorOracle;

  constructor(world: World, node: SimNode) {
    this.#world = world;
    this.#node = node;
    this.#journal = new JournalTail(node.files.disk);
    this.faults = new FaultLog(node, world.clock);
    this.foreign = new ForeignOracle({
      world,
      node,
      plantBind: (source, target) => this.volumes.plantBind(source, target),
      violation: (text) => this.#violation(text),
    });
    this.begins = new StartOracle({
      node,
      nowMs: () => world.clock.monotonicMs(),
      journaled: this.#journaled,
      faults: this.faults,
      nameOf: (uid) => this.#pods.get(uid)?.pod.metadata?.name ?? uid,
      createdMs: (uid) => this.#pods.get(uid)?.createdAtMs,
      isGone: (uid) => this.#pods.get(uid)?.goneAtMs !== undefined,
      deletionDeliveredMs: (uid) => this.#deletionDeliveredMs(this.#pods.get(uid)),
      terminalMs: (uid) => this.#pods.get(uid)?.terminalAtMs ?? Number.POSITIVE_INFINITY,
      violation: (text) => this.#violation(text),
    });
    const ofNode = {
      node,
      pods: () => [...this.#pods.values()].filter(({ goneAtMs }) => goneAtMs === undefined).map(({ pod }) => pod),
      journaled: this.#journaled,
      note: (situation: Situation) => this.lifecycle.note(situation),
      violation: (text: string) => this.#violation(text),
    };
    this.evictions = new EvictionOracle({
      ...ofNode,
      world,
      podOf: (uid) => this.#pods.get(uid)?.pod,
      recordsOf: (uid) => this.records(uid),
      faults: this.faults,
    });
    this.images = new ImageOracle(ofNode);
    this.#mirrors = new MirrorOracle({
      node,
      journaled: this.#journaled,
      hashOf: (id) => this.#manifestHashes.get(id),
      isForced: (uid) => this.forced.has(uid),
      checkOwn: (pod) => this.#checkOwn(pod),
      checkForward: (before, after) => this.#checkForward(before, after),
      violation: (text) => this.#violation(text),
    });
    world.calls.listeners.push(this.faults, this.begins, this.evictions, this.images);
    this.#ownNode = new NodeOracle({
      world,
      node,
      faults: this.faults,
      undecidedSinceMs: () => this.#undecidedSinceMs(),
      violation: (text) => this.#violation(text),
    });
    this.volumes = new VolumeOracle({
      node,
      podOf: (uid) => this.#pods.get(uid)?.pod,
      pods: () => [...this.#pods.values()].map(({ pod }) => pod),
      isGone: (uid) => this.#pods.get(uid)?.goneAtMs !== undefined,
      hasEnded: (uid) => this.#journaled.of(uid).terminalMs !== undefined,
      violation: (text) => this.#violation(text),
    });
    this.lifecycle = new LifecycleOracle({
      node,
      nowMs: () => world.clock.monotonicMs(),
      podOf: (uid) => this.#pods.get(uid)?.pod,
      pods: () => [...this.#pods.values()].filter(({ goneAtMs }) => goneAtMs === undefined).map(({ pod }) => pod),
      hasEnded: (uid) => this.#pods.get(uid)?.goneAtMs !== undefined || this.#pods.get(uid)?.terminalAtMs !== undefined,
      isForced: (uid) => this.forced.has(uid),
      deletedAtMs: (uid) => this.#pods.get(uid)?.deletedAtMs ?? Number.POSITIVE_INFINITY,
      recordsOf: (uid) => this.records(uid),
      wasEverUnwell: (id) => this.#health.get(id)?.unwellMs !== undefined,
      requestedForAllNs: (pod) => this.#requestedForAllNs(pod),
      resizes: () => this.resizes,
      faults: this.faults,
      journaled: this.#journaled,
      wasAnswered: (id) => this.begins.wasAnswered(id),
      watchedSinceMs: () => world.api.podsWatchedSinceMs(node.name),
      violation: (text) => this.#violation(text),
    });
    this.resizes = new ResizeOracle({
      node,
      podOf: (uid) => this.#pods.get(uid)?.pod,
      pods: () => [...this.#pods.values()].filter(({ goneAtMs }) => goneAtMs === undefined).map(({ pod }) => pod),
      violation: (text) => this.#violation(text),
      note: (situation) => this.lifecycle.note(situation),
      nowMs: () => world.clock.monotonicMs(),
      faults: this.faults,
    });
  }

  check(): void {
    this.faults.check();
    this.#noteHealth();
    this.#readJournal();
    this.#checkPods();
    this.resizes.check();
    this.evictions.check();
    this.volumes.check();
    this.foreign.check();
    this.#ownNode.check();
    this.#checkStarts();
    this.lifecycle.check();
    this.#checkRunning();
    this.#checkAddresses();
    this.#checkPulls();
  }

  #readJournal(): void {
    for (const record of this.#journal.news()) {
      if (record.kind === "told") continue;
      const key = JSON.stringify(record);
      if (this.#read.has(key)) continue;
      this.#read.add(key);
      this.#journaled.read(record, this.#world.clock.monotonicMs(), this.#node.lives);
      this.begins.read(record);
      this.resizes.read(record);
      this.evictions.read(record);
    }
  }

  /** The containers of a pod, in the order they were started. */
  records(uid: string): readonly ContainerRecord[] {
    return [...this.#started.values()].filter((record) => uidOf(record) === uid);
  }

  /** The pod as last observed, even after it is gone. */
  lastOf(uid: string): Pod | undefined {
    return this.#pods.get(uid)?.pod;
  }

  /** How many container starts a pod had. */
  starts(uid: string): number {
    return this.records(uid).length;
  }

  #violation(text: string): void {
    if (this.#reported.has(text)) return;
    this.#reported.add(text);
    this.violations.push(`${this.#world.clock.monotonicMs()} ms: ${text}`);
  }

  /** [8] Published status only moves forward, and [7] an object is removed only when nothing of its pod is left. */
  #checkPods(): void {
    const nowMs = this.#world.clock.monotonicMs();
    const present = new Set<string>();
    for (const object of this.#world.api.store.values(POD_KIND)) {
      const pod = object as unknown as Pod;
      if (pod.spec?.nodeName !== this.#node.name) continue;
      const uid = pod.metadata?.uid ?? "";
      present.add(uid);
      if (isMirrorPod(pod)) {
        this.#mirrors.check(uid, pod);
        continue;
      }
      const known = this.#pods.get(uid);
      if (known?.pod === pod) continue;
      // A pod that reappears because a server lags behind is not a step of the agent.
      if (known !== undefined && known.goneAtMs === undefined) {
        this.#checkStep(known.pod, pod);
        this.resizes.changed(known.pod, pod);
        this.evictions.changed(pod);
      }
      const terminal = pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
      this.#pods.set(uid, {
        pod,
        createdAtMs: known?.createdAtMs ?? nowMs,
        goneAtMs: undefined,
        terminalAtMs: known?.terminalAtMs ?? (terminal ? nowMs : undefined),
        deletedAtMs: known?.deletedAtMs ?? (pod.metadata?.deletionTimestamp === undefined ? undefined : nowMs),
      });
    }
    this.#mirrors.checkGone(present);
    for (const [uid, known] of this.#pods) {
      if (present.has(uid) || known.goneAtMs !== undefined) continue;
      known.goneAtMs = nowMs;
      if (!this.forced.has(uid)) this.#checkRemoval(uid, known.pod);
    }
  }

  #checkStep(before: Pod, after: Pod): void {
    const name = after.metadata?.name ?? "";
    this.#checkForward(before, after);
    const [from, to] = [phaseOf(before), phaseOf(after)];
    if (
      to === "Failed" &&
      from !== to &&
      after.status?.message?.startsWith(REJECTED) &&
      this.starts(after.metadata?.uid ?? "") > 0
    )
      this.#violation(`[5.13] ${name}: admission rejected it although it had already run`);
    if (isReady(before) && !isReady(after)) this.#checkFlip(before, after);
    if (!isReady(before) && isReady(after)) this.#checkRise(after);
    if (to === "Failed" && after.status?.reason === "Preempting")
      this.lifecycle.note("a pod was preempted by a critical pod");
    if (waitsForAdmission(before) && !waitsForAdmission(after))
      this.lifecycle.note("a pod was admitted after it had waited");
  }

  /**
   * [8] For pods and mirror pods: phase and restart counts only grow, and a status describes only the pod's own
   * containers.
   */
  #checkForward(before: Pod, after: Pod): void {
    const name = after.metadata?.name ?? "";
    const [from, to] = [phaseOf(before), phaseOf(after)];
    // A pod returns to Pending when its sandbox is new or when all its containers are restarted.
    const isSetUpAgain =
      from === "Running" && to === "Pending" && (this.#isInNewSandbox(after) || this.#requestedForAllNs(after) > 0n);
    if (from !== to && !isSetUpAgain && (PHASES.indexOf(to) < PHASES.indexOf(from) || from === "Succeeded")) {
      this.#violation(`[8] ${name}: phase went from ${from} to ${to}`);
    }
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
    this.#checkOwn(after);
  }

  /** [8] A status describes no container of another UID. */
  #checkOwn({ metadata, status }: Pod): void {
    const mirrored = metadata?.annotations?.[CONFIG_MIRROR];
    const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status ?? {};
    for (const { containerID, name } of [
      ...containerStatuses,
      ...initContainerStatuses,
      ...ephemeralContainerStatuses,
    ]) {
      const record = this.#started.get(idOf(containerID));
      if (record === undefined) continue;
      const isOwn =
        mirrored === undefined ? uidOf(record) === metadata?.uid : this.#manifestHashes.get(record.id) === mirrored;
      if (!isOwn) this.#violation(`[8] ${metadata?.name}/${name}: reported a container of pod ${uidOf(record)}`);
    }
  }

  #isInNewSandbox({ metadata, spec }: Pod): boolean {
    const attempts = [...this.#node.runtime.sandboxes.values()]
      .filter(({ config, state }) => config.metadata.uid === metadata?.uid && state === "ready")
      .map(({ config }) => config.metadata.attempt);
    return (spec?.initContainers ?? []).length > 0 && attempts.some((attempt) => attempt > 0);
  }

  /** Records when each probed container was last healthy and last unhealthy. */
  #noteHealth(): void {
    const nowMs = this.#world.clock.monotonicMs();
    for (const record of this.#node.runtime.containers.values()) {
      if (record.state !== "running" || !this.#isProbed(record)) continue;
      const isNowWell = isWell(this.#node.runtime.healthOf(record.id));
      const health = this.#health.get(record.id) ?? { wellMs: undefined, unwellMs: undefined };
      this.#health.set(record.id, isNowWell ? { ...health, wellMs: nowMs } : { ...health, unwellMs: nowMs });
    }
  }

  #isProbed(record: ContainerRecord): boolean {
    const { spec } = this.#pods.get(uidOf(record))?.pod ?? {};
    return probedContainers(spec).some(({ container }) => container.name === record.config.metadata.name);
  }

  /** [8] A pod becomes Ready only after each container with a readiness probe has reported itself healthy. */
  #checkRise(after: Pod): void {
    const probed = probedContainers(after.spec).filter(({ container }) => hasProbe(container, "readiness"));
    for (const { container } of probed) {
      const { containerStatuses = [], initContainerStatuses = [] } = after.status ?? {};
      const status = [...containerStatuses, ...initContainerStatuses].find(({ name }) => name === container.name);
      const { wellMs, unwellMs } = this.#health.get(idOf(status?.containerID)) ?? {};
      if (unwellMs !== undefined) this.lifecycle.note("an unready container became ready");
      if (wellMs === undefined)
        this.#violation(`[8] ${after.metadata?.name}: Ready though ${container.name} never said so`);
    }
  }

  /** [8] A published exit code is the runtime's, which may be its code for an unknown exit. */
  #checkExitCodes(pod: Pod): void {
    for (const { state, lastState, name } of pod.status?.containerStatuses ?? []) {
      for (const ended of [state?.terminated, lastState?.terminated]) {
        const record = this.#started.get(idOf(ended?.containerID));
        if (ended === undefined || record === undefined || record.state !== "exited") continue;
        if (record.exitCode !== ended.exitCode) {
          this.#violation(
            `[8] ${pod.metadata?.name}/${name}: published exit code ${ended.exitCode}, the runtime says ${record.exitCode}`,
          );
        }
      }
    }
  }

  /** [8] Ready is lost only with a container, with the pod, or when a container reports itself unhealthy. */
  #checkFlip(before: Pod, after: Pod): void {
    if (after.metadata?.deletionTimestamp !== undefined) return;
    // A container whose sandbox has died has no address to be probed at.
    const { sandboxes } = this.#node.runtime;
    const known = this.#runningOf(after.metadata?.uid ?? "").filter(
      ({ state, sandboxId }) => state === "running" && sandboxes.get(sandboxId)?.state === "ready",
    );
    const running = new Set(known.map(({ id }) => id));
    // A container that ended while its status could not be published, and runs again by now, was not ready in between.
    const sidecars = (before.status?.initContainerStatuses ?? []).filter(({ state }) => state?.running !== undefined);
    const reported = [...(before.status?.containerStatuses ?? []), ...sidecars].map(({ containerID }) =>
      idOf(containerID),
    );
    const sinceMs = this.#world.clock.monotonicMs() - HEALTH_MS;
    if (reported.some((id) => this.#wasUnwell(id))) return;
    if (asksByCommand(after) && this.faults.concerned("commands", sinceMs, ...reported)) return;
    if (reported.every((id) => running.has(id)))
      this.#violation(`[8] ${after.metadata?.name}: Ready became False although all its containers run`);
  }

  /** Whether the container was unhealthy within the time that its probes may take to detect it. */
  #wasUnwell(id: string): boolean {
    const { unwellMs, wellMs } = this.#health.get(id) ?? {};
    return unwellMs !== undefined && wellMs !== undefined && unwellMs > this.#world.clock.monotonicMs() - HEALTH_MS;
  }

  #checkRemoval(uid: string, pod: Pod): void {
    const name = pod.metadata?.name ?? "";
    if (this.#runningOf(uid).length > 0) this.#violation(`[7] ${name}: removed from the API while a container runs`);
    if (this.#readySandboxesOf(uid) > 0)
      this.#violation(`[7] ${name}: removed from the API while its sandbox is ready`);
    const phase = pod.status?.phase;
    if (phase !== "Succeeded" && phase !== "Failed")
      this.#violation(`[7] ${name}: removed from the API in phase ${phase}`);
    // When a user deletes a terminal pod, the server itself removes it at once, without involving the agent.
    if (pod.metadata?.deletionTimestamp === undefined) return;
    if (this.#node.cgroups.has(`pod${uid}`))
      this.#violation(`[7] ${name}: removed from the API while its cgroup is there`);
    for (const what of this.volumes.remainsOf(uid))
      this.#violation(`[7] ${name}: removed from the API while ${what} is there`);
  }

  /** [2] Nothing starts for a pod that has ended, and a restart policy holds across every death of the agent. */
  #checkStarts(): void {
    const nowMs = this.#world.clock.monotonicMs();
    for (const record of this.#node.runtime.containers.values()) {
      if (record.startedWallNs === undefined || this.#started.has(record.id)) continue;
      const uid = uidOf(record);
      const known = this.#pods.get(uid);
      const what = `${record.config.metadata.name} of ${known?.pod.metadata?.name ?? uid}`;
      if (known?.terminalAtMs !== undefined && nowMs > known.terminalAtMs)
        this.#violation(`[2] ${what} started after its end was published`);
      if (nowMs > this.#goneDeliveredMs(known) + IN_FLIGHT_MS)
        this.#violation(`[2] ${what} started though its pod is gone`);
      // Containers started before all were restarted belong to an earlier round.
      const againNs = known === undefined ? 0n : this.#requestedForAllNs(known.pod);
      const before = this.records(uid).filter(({ startedWallNs = 0n }) => startedWallNs > againNs);
      this.#checkPolicy(record, known?.pod, what, before);
      this.lifecycle.started(record, known?.pod, before);
      this.#started.set(record.id, record);
      const hash = this.#node.runtime.sandboxes.get(record.sandboxId)?.config.annotations?.[CONFIG_HASH];
      if (hash !== undefined) this.#manifestHashes.set(record.id, hash);
    }
  }

  /** When the agent's watch delivered that a pod is gone. */
  #goneDeliveredMs(known: KnownPod | undefined): number {
    return this.#deliveredMs(known?.goneAtMs);
  }

  /** When the agent's watch delivered that a pod is being deleted, or is gone. */
  #deletionDeliveredMs(known: KnownPod | undefined): number {
    return this.#deliveredMs(known?.deletedAtMs ?? known?.goneAtMs);
  }

  /** Since when the running agent knows the pod that has waited longest for its decision. */
  #undecidedSinceMs(): number | undefined {
    const waiting = [...this.#pods].flatMap(([uid, { createdAtMs, goneAtMs }]) =>
      goneAtMs === undefined && !this.#journaled.of(uid).isDecided ? [this.#deliveredMs(createdAtMs)] : [],
    );
    const sinceMs = Math.max(Math.min(...waiting), this.#node.startedMonotonicMs);
    return Number.isFinite(sinceMs) ? sinceMs : undefined;
  }

  #deliveredMs(happenedMs: number | undefined): number {
    const watchedMs = this.#world.api.podsWatchedSinceMs(this.#node.name) ?? Number.POSITIVE_INFINITY;
    return Math.max(happenedMs ?? Number.POSITIVE_INFINITY, watchedMs);
  }

  #checkPolicy(record: ContainerRecord, pod: Pod | undefined, what: string, ofPod: readonly ContainerRecord[]): void {
    const before = ofPod.filter((other) => other.config.metadata.name === record.config.metadata.name);
    const containerSpec = containerNamed(pod?.spec, record.config.metadata.name);
    if (pod === undefined || containerSpec === undefined) return;
    const own = "restartPolicy" in containerSpec.container ? containerSpec.container.restartPolicy : undefined;
    const policy = own ?? pod.spec?.restartPolicy ?? "Always";
    const rules =
      "restartPolicyRules" in containerSpec.container ? (containerSpec.container.restartPolicyRules ?? []) : [];
    for (const { id, state, exitCode, sandboxId } of before) {
      if (this.resizes.wasStopped(id)) continue;
      if (state === "exited" && rules.some(({ exitCodes }) => exitCodes?.values?.includes(exitCode))) continue;
      const wasHere = sandboxId === record.sandboxId;
      if (containerSpec.role === "ephemeral")
        this.#violation(`[2] ${what} ran again although it is an ephemeral container`);
      else if (containerSpec.role === "init" && wasHere && state === "exited" && exitCode === 0)
        this.#violation(`[2] ${what} ran again though it had set up its pod`);
      else if (containerSpec.role === "regular" && policy === "Never")
        this.#violation(`[2] ${what} ran again under Never`);
      else if (containerSpec.role === "regular" && policy === "OnFailure" && state === "exited" && exitCode === 0)
        this.#violation(`[2] ${what} ran again though it had succeeded`);
    }
  }

  /** When a container last ended so that its rules restart all containers; 0 if never. */
  #requestedForAllNs({ metadata, spec }: Pod): bigint {
    let latest = 0n;
    for (const { config, state, exitCode, finishedWallNs = 0n } of this.records(metadata?.uid ?? "")) {
      const rules = containerNamed(spec, config.metadata.name)?.container.restartPolicyRules ?? [];
      const asks = rules.some(
        ({ action, exitCodes }) => action === "RestartAllContainers" && exitCodes?.values?.includes(exitCode) === true,
      );
      if (state === "exited" && asks && finishedWallNs > latest) latest = finishedWallNs;
    }
    return latest;
  }

  /** [1] One instance of each container and one ready sandbox per pod; [5] one running static pod per name. */
  #checkRunning(): void {
    const instances = new Map<string, number>();
    const names = new Map<string, Set<string>>();
    for (const record of this.#node.runtime.containers.values()) {
      if (record.process === undefined || !isRunning(record) || record.revived === true) continue;
      const { name, namespace, uid } = sandboxOf(this.#node, record);
      count(instances, `container ${record.config.metadata.name} of ${name}`, uid);
      // Pods of the API server are distinguished by UID alone: the old one may be terminating while the new one starts.
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

  /** [28] An image that is being pulled is not pulled a second time. */
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

const asksByCommand = ({ spec }: Pod): boolean =>
  probedContainers(spec).some(({ container }) =>
    [container.readinessProbe, container.startupProbe].some((probe) => probe?.exec !== undefined),
  );

const phaseOf = ({ status }: Pod): string => status?.phase ?? "Pending";
const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") === true;
const waitsForAdmission = ({ status }: Pod): boolean => status?.reason?.startsWith("WaitingFor") === true;

/** The container ID without the name of the runtime. */
const idOf = (containerId: string | undefined): string => (containerId ?? "").replace(/^.*:\/\//, "");
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
