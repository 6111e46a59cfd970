/**
 * Enforces the values of the cgroups above all pods.
 *
 * Every minute all of these cgroups are set, whatever changed them meanwhile. A change of the admitted pods only
 * updates the QoS cgroups, and only if their values change. Failures are reported and retried a minute later: a limit
 * below the current usage can be set once evictions have freed memory. No pod can start before the QoS cgroups have
 * been set once; until then retries start after a second and become less frequent. With `misconfigurationIsFatal` `run`
 * rejects instead if the QoS cgroups or those of reserved resources cannot be set at first.
 */

import type { Pod } from "../../api/gen/core-v1.ts";
import { doublingMs } from "../../base/backoff.ts";
import { errorText } from "../../base/error-text.ts";
import { isDefined } from "../../base/is-defined.ts";
import { unlessShutDown } from "../../concurrency/abort.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import type { Heartbeat } from "../../concurrency/loop-heartbeats.ts";
import { Notifier } from "../../concurrency/notifier.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import { waitForValue } from "../../concurrency/wait-for-value.ts";
import { nodeSubject } from "../../domain/events/recorded-event.ts";
import { MisconfigurationError } from "../../domain/misconfiguration.ts";
import { cgroupNameOf, quotedName } from "../../domain/resources/cgroup-name.ts";
import type { CgroupName } from "../../domain/resources/cgroup-values.ts";
import { unreservedMemoryBytes } from "../../domain/resources/node-allocatable.ts";
import type { QosCgroupState } from "../../domain/resources/qos-cgroup-state.ts";
import { qosCgroupValues } from "../../domain/resources/qos-cgroups.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Log } from "../../ports/log.ts";
import type { Machine } from "../../ports/machine.ts";
import { allPods, hugepageSizesOf, type NodeGroupSettings, type ReservedGroup, reservedGroups } from "./node-groups.ts";
import { QosReserve } from "./qos-reserve.ts";

const EVERY_MS = 60_000;
const UNTIL_READY = { firstMs: 1000, maxMs: EVERY_MS };
const ENFORCED = "NodeAllocatableEnforced";
const FAILED = "FailedNodeAllocatableEnforcement";

/** Available once the runtime has reported its cgroup driver. */
export interface NodeCgroups {
  /** Below the configured cgroup root. */
  readonly pods: Cgroups;
  /** From the root of the cgroup hierarchy. */
  readonly machine: Cgroups;
}

export interface ResourcesOptions {
  readonly cgroups: Latest<NodeCgroups | undefined>;
  /** Only admitted pods count. */
  readonly admittedPods: ReadonlyTable<string, { readonly pod: Pod; readonly verdict: { readonly kind: string } }>;
  readonly qosCgroups: LatestCell<QosCgroupState>;
  readonly machine: Pick<Machine, "facts">;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly log: Log;
  readonly heartbeat: Heartbeat;
  readonly settings: NodeGroupSettings;
  readonly misconfigurationIsFatal: boolean;
}

export class ResourcesController {
  readonly #options: ResourcesOptions;
  /** Everything that is fatal at first was set once. Until then no pod may start. */
  #hasStarted: boolean;
  /** What an event has reported as enforced, so that each is reported once. */
  readonly #enforced = new Set<string>();
  #hugepageSizes: readonly string[] = [];
  /** 0 until the machine's capacity was read. */
  #allocatableMemoryBytes = 0n;
  readonly #qosReserve: QosReserve | undefined;
  /** The pod-dependent values of each QoS cgroup as last applied. */
  readonly #appliedQosCgroups = new Map<CgroupName, string>();

  constructor(options: ResourcesOptions) {
    this.#options = options;
    this.#hasStarted = !options.misconfigurationIsFatal;
    const { qosReservedMemory } = options.settings;
    this.#qosReserve = qosReservedMemory === undefined ? undefined : new QosReserve(qosReservedMemory, options.log);
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { admittedPods, qosCgroups, clock, heartbeat } = this.#options;
    const podsChanged = new Notifier();
    const unwatch = admittedPods.watch(podsChanged.notify);
    try {
      await unlessShutDown(shutdown, async () => {
        const cgroups = await heartbeat.waits(waitForValue(this.#options.cgroups, isDefined, shutdown));
        let [dueMs, tries] = [clock.monotonicMs(), 0];
        for (;;) {
          heartbeat.beat();
          const seen = podsChanged.version;
          if (clock.monotonicMs() >= dueMs) {
            await this.#enforceAll(cgroups, shutdown);
            tries += 1;
            const againMs = qosCgroups.value.kind === "ready" ? EVERY_MS : doublingMs(UNTIL_READY, tries);
            dueMs = clock.monotonicMs() + againMs;
          } else {
            await this.#enforceQosCgroups(cgroups.pods, { always: false }, shutdown);
          }
          const waitMs = Math.max(0, dueMs - clock.monotonicMs());
          await waitForChange(clock, [{ cell: podsChanged, seen }], waitMs, shutdown);
        }
      });
    } finally {
      unwatch();
    }
  }

  async #enforceAll(cgroups: NodeCgroups, shutdown: AbortSignal): Promise<void> {
    const { machine, settings, log } = this.#options;
    let reserved: readonly ReservedGroup[] | undefined;
    try {
      const facts = await machine.facts();
      this.#hugepageSizes = hugepageSizesOf(facts);
      this.#allocatableMemoryBytes = unreservedMemoryBytes(facts.memoryBytes, settings.reservations);
      reserved = reservedGroups(facts, settings);
      const [name, values] = allPods(facts, settings);
      await this.#enforce(
        "pods",
        "Updated Node Allocatable limit across pods",
        () => cgroups.pods.apply(name, values),
        {
          failure: `Failed to update Node Allocatable Limits ${quotedName([...settings.cgroupRoot, ...name])}`,
        },
        shutdown,
      );
    } catch (error) {
      shutdown.throwIfAborted();
      log.error("Failed to read the machine's capacity; the cgroup limits stay unchanged", error);
    }
    const failures = [await this.#enforceQosCgroups(cgroups.pods, { always: true }, shutdown)];
    for (const group of reserved ?? []) failures.push(await this.#enforceReserved(cgroups.machine, group, shutdown));
    if (this.#hasStarted || reserved === undefined) return;
    const failure = failures.find(isDefined);
    if (failure !== undefined) throw new MisconfigurationError(`Failed to start ContainerManager: ${failure}`);
    this.#hasStarted = true;
    this.#letPodsStart();
  }

  #letPodsStart(): void {
    const { qosCgroups } = this.#options;
    if (qosCgroups.value.kind !== "ready") qosCgroups.set({ kind: "ready" });
  }

  async #enforceQosCgroups(
    cgroups: Cgroups,
    { always }: { readonly always: boolean },
    shutdown: AbortSignal,
  ): Promise<string | undefined> {
    const { admittedPods, qosCgroups, settings, log } = this.#options;
    const admitted = admittedPods.keys().map((uid) => admittedPods.get(uid));
    const pods = admitted.flatMap((entry) => (entry?.verdict.kind === "admitted" ? [entry.pod] : []));
    try {
      for (const [name, values] of qosCgroupValues(pods, this.#hugepageSizes, settings.memoryQos)) {
        const wanted = `${values.cpuShares} ${[...(values.unified ?? [])].join(" ")}`;
        if (this.#appliedQosCgroups.get(name) === wanted && !always) continue;
        this.#appliedQosCgroups.delete(name);
        await cgroups.apply(name, values);
        this.#appliedQosCgroups.set(name, wanted);
      }
      await this.#qosReserve?.apply(cgroups, pods, this.#allocatableMemoryBytes, { always });
      if (this.#hasStarted) this.#letPodsStart();
      return undefined;
    } catch (error) {
      shutdown.throwIfAborted();
      if (qosCgroups.value.kind !== "ready") qosCgroups.set({ kind: "failing", trouble: errorText(error) });
      log.error("Failed to update QoS cgroup configuration", error);
      return `failed to initialize top level QOS containers: ${errorText(error)}`;
    }
  }

  async #enforceReserved(
    cgroups: Cgroups,
    { path, values, title, subject }: ReservedGroup,
    shutdown: AbortSignal,
  ): Promise<string | undefined> {
    const name = cgroupNameOf(path, cgroups.driver);
    return this.#enforce(
      title,
      `Updated limits on ${subject} reserved cgroup ${path}`,
      async () => {
        if (values === undefined) throw new Error(`${quotedName(name)} cgroup is not configured properly`);
        const validationError = await cgroups.validationError(name);
        if (validationError !== undefined) throw new Error(validationError);
        await cgroups.apply(name, values);
      },
      { failure: `Failed to enforce ${title} Cgroup Limits on ${JSON.stringify(path)}` },
      shutdown,
    );
  }

  async #enforce(
    what: string,
    success: string,
    act: () => Promise<void>,
    { failure }: { readonly failure: string },
    shutdown: AbortSignal,
  ): Promise<string | undefined> {
    const { events, log, settings } = this.#options;
    const node = nodeSubject(settings.nodeName);
    try {
      await act();
      if (!this.#enforced.has(what)) events.emit(node, "Normal", ENFORCED, success);
      this.#enforced.add(what);
      return undefined;
    } catch (error) {
      shutdown.throwIfAborted();
      this.#enforced.delete(what);
      const message = `${failure}: ${errorText(error)}`;
      log.error(failure, error);
      events.emit(node, "Warning", FAILED, message);
      return message;
    }
  }
}
