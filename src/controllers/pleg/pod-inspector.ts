/**
 * Inspects single pods in the runtime and publishes the result in `podRuntimeStatus`, as its only writer. A pod whose
 * inspection hangs delays no other pod. A requested inspection always begins after the request, and inspections of one
 * pod never overlap.
 *
 * A pod changes only through its worker or by itself, and what it does by itself (exit) is final. An inspection that
 * began after the worker's last mutation is therefore current for every decision: nothing can have been created since.
 */
import { isDefined } from "../../base/is-defined.ts";
import { jsonEqual } from "../../base/json-equal.ts";
import { raceAbort } from "../../concurrency/abort.ts";
import type { LatestCell } from "../../concurrency/latest-cell.ts";
import type { LatestTable } from "../../concurrency/latest-table.ts";
import { POD_UID_LABEL } from "../../domain/container-config/cri-keys.ts";
import type { PlegMetrics } from "../../domain/metrics/runtime-metrics.ts";
import { fingerprint, listingByPod, type PodListing } from "../../domain/pod/runtime-listing.ts";
import {
  type CreatedParts,
  emptyView,
  type PodContainer,
  type PodRuntimeView,
  podView,
} from "../../domain/pod/runtime-view.ts";
import type { ContainerEvent, ContainerState } from "../../domain/runtime/container.ts";
import type { Sandbox, SandboxState, SandboxStatus } from "../../domain/runtime/sandbox.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { isRuntimeError } from "../../ports/runtime-error.ts";

export interface PodInspectorOptions {
  readonly runtime: Pick<Runtime, "listSandboxes" | "listContainers" | "sandboxStatus" | "containerStatus">;
  readonly podRuntimeStatus: LatestTable<string, PodRuntimeView>;
  readonly listedSandboxes: LatestCell<readonly Sandbox[] | undefined>;
  readonly shutdown: AbortSignal;
  readonly clock?: Pick<Clock, "monotonicMs">;
  readonly plegMetrics?: PlegMetrics;
}

interface Mutation {
  /** How many inspections of the pod had begun when the mutation completed. */
  readonly afterInspection: number;
  /** Sequence number among all completed mutations. */
  readonly number: number;
}

const UNDER_WAY: Mutation = { afterInspection: Number.POSITIVE_INFINITY, number: Number.POSITIVE_INFINITY };

interface Part {
  readonly state: ContainerState | SandboxState;
}

const hasEnded = ({ state }: Part) => state === "notReady" || state === "exited";
const isLiving = ({ state }: Part) => state === "ready" || state === "running";

interface InspectedParts {
  readonly sandboxes: readonly { readonly id: string }[];
  readonly containers: CreatedParts["containers"];
}

interface Inspection {
  readonly view: Promise<PodRuntimeView>;
  /** Requested while this inspection was running; begins when it ends. */
  next: Promise<PodRuntimeView> | undefined;
}

export class PodInspector {
  readonly #options: PodInspectorOptions;
  readonly #inspections = new Map<string, Inspection>();
  /** How many inspections of each pod have begun. */
  readonly #begun = new Map<string, number>();
  /** The inspection that produced the current value of the cell. */
  readonly #seenIn = new Map<string, number>();
  /** The worker's last mutation. */
  readonly #mutations = new Map<string, Mutation>();
  #completedMutations = 0;
  /** The pods of the last full listing; undefined before the first. */
  #listed: ReadonlySet<string> | undefined;
  /** Exited containers by ID: their status no longer changes. */
  readonly #endedContainers = new Map<string, PodContainer>();
  /** Fingerprint of the listing that the last successful inspection found. */
  readonly #fingerprints = new Map<string, string>();
  /** Sandboxes without our label, by the UID in their metadata. Somebody else created them, but we must stop them. */
  #unlabelled: ReadonlyMap<string, readonly Sandbox[]> = new Map();

  constructor(options: PodInspectorOptions) {
    this.#options = options;
  }

  /** Rejects when the runtime does not respond; the published view then stays. */
  inspect(uid: string, signal: AbortSignal): Promise<PodRuntimeView> {
    return raceAbort(this.#next(uid), signal);
  }

  /**
   * The last inspected view, unless the pod was mutated after that inspection began. A pod that was never mutated and
   * is missing from the full listing has nothing in the runtime.
   */
  cached(uid: string): PodRuntimeView | undefined {
    const mutation = this.#mutations.get(uid);
    const seen = this.#options.podRuntimeStatus.get(uid);
    if (seen === undefined)
      return mutation === undefined && this.#listed?.has(uid) === false ? emptyView(uid) : undefined;
    return mutation === undefined || (this.#seenIn.get(uid) ?? 0) > mutation.afterInspection ? seen : undefined;
  }

  /**
   * The pod after a successful mutation by its worker: inspects the known parts and the created ones again. No listing
   * is needed, because nobody else creates anything. After a failed mutation only a full inspection is reliable.
   */
  refresh(uid: string, created: CreatedParts, signal: AbortSignal): Promise<PodRuntimeView> {
    const view = this.#inspections.has(uid) ? this.#next(uid) : this.#begin(uid, () => this.#reread(uid, created));
    return raceAbort(view, signal);
  }

  /**
   * Marks that the runtime is about to change this pod. No view is current until this is disposed of and a later
   * inspection has finished.
   */
  mutating(uid: string): Disposable {
    this.#mutations.set(uid, UNDER_WAY);
    return {
      [Symbol.dispose]: () => {
        this.#completedMutations += 1;
        this.#mutations.set(uid, { afterInspection: this.#begun.get(uid) ?? 0, number: this.#completedMutations });
      },
    };
  }

  isBeingMutated(uid: string): boolean {
    return this.#mutations.get(uid) === UNDER_WAY;
  }

  /** Whether an inspection is running, or a mutation after which the worker inspects. */
  isBeingInspected(uid: string): boolean {
    return this.isBeingMutated(uid) || this.#inspections.has(uid);
  }

  /**
   * Number of completed mutations. Read it before a full listing starts: the listing does not contain what is created
   * later.
   */
  get completedMutations(): number {
    return this.#completedMutations;
  }

  /** Applies a full listing: drops pods that are gone and the remembered status of their containers. */
  noteListing(listings: ReadonlyMap<string, PodListing>, completedMutations: number): void {
    const { podRuntimeStatus } = this.#options;
    this.#listed = new Set(listings.keys());
    const containers = new Set([...listings.values()].flatMap((listing) => listing.containers.map(({ id }) => id)));
    for (const id of this.#endedContainers.keys()) if (!containers.has(id)) this.#endedContainers.delete(id);
    const isGone = (uid: string) =>
      !listings.has(uid) &&
      !this.#inspections.has(uid) &&
      (this.#mutations.get(uid)?.number ?? 0) <= completedMutations;
    for (const numbers of [this.#begun, this.#seenIn, this.#mutations, this.#fingerprints]) {
      for (const uid of numbers.keys()) if (isGone(uid)) numbers.delete(uid);
    }
    for (const uid of podRuntimeStatus.keys()) if (isGone(uid)) podRuntimeStatus.delete(uid);
    const unlabelled = [...listings].map(([uid, { sandboxes }]) => {
      return [uid, sandboxes.filter(({ labels }) => labels[POD_UID_LABEL] !== uid)] as const;
    });
    this.#unlabelled = new Map(unlabelled.filter(([, sandboxes]) => sandboxes.length > 0));
  }

  /** Whether the cell already contains what an event reports. */
  isKnown(uid: string, { kind, containerId }: Pick<ContainerEvent, "kind" | "containerId">): boolean {
    const view = this.#options.podRuntimeStatus.get(uid);
    const part = [...(view?.containers ?? []), ...(view?.sandboxes ?? [])].find(({ id }) => id === containerId);
    if (kind === "deleted") return part === undefined;
    return part !== undefined && (kind === "created" || hasEnded(part) || (kind === "started" && isLiving(part)));
  }

  /** Whether a listing contains changes of a pod that no inspection has found yet. */
  isNews(uid: string, listing: PodListing): boolean {
    return this.#fingerprints.get(uid) !== fingerprint(listing);
  }

  #next(uid: string): Promise<PodRuntimeView> {
    const under = this.#inspections.get(uid);
    const begin = () => this.#begin(uid, () => this.#read(uid));
    if (under === undefined) return begin();
    under.next ??= under.view.then(begin, begin);
    return under.next;
  }

  #begin(uid: string, read: () => Promise<PodRuntimeView>): Promise<PodRuntimeView> {
    const number = (this.#begun.get(uid) ?? 0) + 1;
    this.#begun.set(uid, number);
    const sinceMs = this.#options.clock?.monotonicMs() ?? 0;
    const view = read().then((seen) => {
      this.#seenIn.set(uid, number);
      this.#options.plegMetrics?.inspections.observe(((this.#options.clock?.monotonicMs() ?? 0) - sinceMs) / 1000);
      return seen;
    });
    const inspection: Inspection = { view, next: undefined };
    this.#inspections.set(uid, inspection);
    const done = () => {
      if (this.#inspections.get(uid) === inspection) this.#inspections.delete(uid);
    };
    view.then(done, done);
    return view;
  }

  async #read(uid: string): Promise<PodRuntimeView> {
    const { runtime, shutdown: signal } = this.#options;
    const labels = { [POD_UID_LABEL]: uid };
    const [sandboxes, containers] = await Promise.all([
      runtime.listSandboxes({ labels }, signal),
      runtime.listContainers({ labels }, signal),
    ]);
    const all = [...sandboxes, ...(this.#unlabelled.get(uid) ?? [])];
    const listing = listingByPod(all, containers).get(uid);
    if (listing === undefined) {
      this.#gone(uid);
      return emptyView(uid);
    }
    const view = podView(uid, ...(await this.#statusesOf(listing, signal)));
    this.#publish(view, listing);
    return view;
  }

  async #reread(uid: string, created: CreatedParts): Promise<PodRuntimeView> {
    const before = this.#options.podRuntimeStatus.get(uid) ?? emptyView(uid);
    const createdIds = new Set([...created.sandboxIds, ...created.containers.map(({ id }) => id)]);
    // A created part may already have been inspected, and have exited, before the mutation completed.
    const others = <T extends { readonly id: string }>(parts: readonly T[]) =>
      parts.filter(({ id }) => !createdIds.has(id));
    const [ownSandboxes, ownContainers] = [others(before.sandboxes), others(before.containers)];
    const living = <T extends Part>(parts: readonly T[]) => parts.filter((part) => !hasEnded(part));
    const [sandboxes, containers] = await this.#statusesOf(
      {
        sandboxes: [...living(ownSandboxes), ...created.sandboxIds.map((id) => ({ id }))],
        containers: [...living(ownContainers), ...created.containers],
      },
      this.#options.shutdown,
    );
    const view = podView(
      uid,
      [...ownSandboxes.filter(hasEnded), ...sandboxes],
      [...ownContainers.filter(hasEnded), ...containers],
    );
    this.#publish(view, view);
    return view;
  }

  #publish(view: PodRuntimeView, listing: Parameters<typeof fingerprint>[0]): void {
    const { podRuntimeStatus } = this.#options;
    // An unchanged view is not set again: a worker that inspects after a failure would wake itself and never back off.
    if (!jsonEqual(podRuntimeStatus.get(view.uid), view)) podRuntimeStatus.set(view.uid, view);
    this.#fingerprints.set(view.uid, fingerprint(listing));
  }

  #gone(uid: string): void {
    this.#fingerprints.delete(uid);
    const { podRuntimeStatus, listedSandboxes } = this.#options;
    podRuntimeStatus.delete(uid);
    const listed = listedSandboxes.value;
    if (listed?.some(({ metadata }) => metadata.uid === uid) === true) {
      listedSandboxes.set(listed.filter(({ metadata }) => metadata.uid !== uid));
    }
  }

  async #statusesOf(
    { sandboxes, containers }: InspectedParts,
    signal: AbortSignal,
  ): Promise<[readonly SandboxStatus[], readonly PodContainer[]]> {
    const [sandboxStatuses, containerStatuses] = await Promise.all([
      Promise.all(sandboxes.map(({ id }) => this.#sandbox(id, signal))),
      Promise.all(containers.map(({ id, sandboxId }) => this.#container(id, sandboxId, signal))),
    ]);
    return [sandboxStatuses.filter(isDefined), containerStatuses.filter(isDefined)];
  }

  /** Undefined if the sandbox was removed after it was listed. */
  async #sandbox(id: string, signal: AbortSignal): Promise<SandboxStatus | undefined> {
    try {
      const { status } = await this.#options.runtime.sandboxStatus(id, { verbose: false }, signal);
      return status;
    } catch (error) {
      if (isRuntimeError(error, "notFound")) return undefined;
      throw error;
    }
  }

  async #container(id: string, sandboxId: string, signal: AbortSignal): Promise<PodContainer | undefined> {
    const ended = this.#endedContainers.get(id);
    if (ended !== undefined) return ended;
    try {
      const { status } = await this.#options.runtime.containerStatus(id, { verbose: false }, signal);
      const container = { ...status, sandboxId };
      if (status.state === "exited") this.#endedContainers.set(id, container);
      return container;
    } catch (error) {
      if (isRuntimeError(error, "notFound")) return undefined;
      throw error;
    }
  }
}
