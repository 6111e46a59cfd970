/**
 * Looks at single pods in the runtime and leaves what it saw in `podRuntimeStatus`, whose only writer it is. One pod whose look hangs
 * costs that pod alone. A look that was asked for always begins after the asking, and looks at one pod never overlap.
 *
 * A pod changes by the hand of its worker, or by itself, and what it does by itself (to end) is final. So a look that began after
 * the worker's last act shows the present for every decision: nothing can have come to be since that it does not show.
 */
import { jsonEqual } from "../../base/json-equal.ts";
import type { LatestCell } from "../../concurrency/latest-cell.ts";
import type { LatestTable } from "../../concurrency/latest-table.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import { POD_UID_LABEL } from "../../domain/container-config/cri-keys.ts";
import type { PlegMetrics } from "../../domain/metrics/runtime-metrics.ts";
import { fingerprint, listingByPod, type PodListing } from "../../domain/pod/runtime-listing.ts";
import {
  emptyView,
  type MadeParts,
  type PodContainer,
  type PodRuntimeView,
  podView,
} from "../../domain/pod/runtime-view.ts";
import type { ContainerEvent, ContainerState } from "../../domain/runtime/container.ts";
import type { Sandbox, SandboxState, SandboxStatus } from "../../domain/runtime/sandbox.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { isRuntimeError } from "../../ports/runtime-error.ts";

export interface ObserverOptions {
  readonly runtime: Pick<Runtime, "listSandboxes" | "listContainers" | "sandboxStatus" | "containerStatus">;
  readonly podRuntimeStatus: LatestTable<string, PodRuntimeView>;
  readonly listedSandboxes: LatestCell<readonly Sandbox[] | undefined>;
  readonly shutdown: AbortSignal;
  readonly clock?: Pick<Clock, "monotonicMs">;
  readonly plegMetrics?: PlegMetrics;
}

interface Act {
  /** How many looks had begun when it was over. */
  readonly afterLook: number;
  /** Among all acts that are over. */
  readonly number: number;
}

const UNDER_WAY: Act = { afterLook: Number.POSITIVE_INFINITY, number: Number.POSITIVE_INFINITY };

interface Part {
  readonly state: ContainerState | SandboxState;
}

const hasEnded = ({ state }: Part) => state === "notReady" || state === "exited";
const isLiving = ({ state }: Part) => state === "ready" || state === "running";

interface InspectedParts {
  readonly sandboxes: readonly { readonly id: string }[];
  readonly containers: MadeParts["containers"];
}

interface Look {
  readonly view: Promise<PodRuntimeView>;
  /** Asked for while this one was under way; begins when it ends. */
  next: Promise<PodRuntimeView> | undefined;
}

export class Observer {
  readonly #options: ObserverOptions;
  readonly #looks = new Map<string, Look>();
  /** How many looks at each pod have begun. */
  readonly #begun = new Map<string, number>();
  /** The look that left what is in the cell. */
  readonly #seenIn = new Map<string, number>();
  /** The worker's last act. */
  readonly #acts = new Map<string, Act>();
  #actsOver = 0;
  /** The pods of the last listing of everything; undefined before the first. */
  #listed: ReadonlySet<string> | undefined;
  /** What does not change any more once seen, by id. */
  readonly #endedContainers = new Map<string, PodContainer>();
  /** What the last good look found listed, in short. */
  readonly #prints = new Map<string, string>();
  /** Sandboxes without our label, by the UID in their name: made by somebody else, and ours to end all the same. */
  #unlabelled: ReadonlyMap<string, readonly Sandbox[]> = new Map();

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  /** Rejects when the runtime does not answer; what was known stays known. */
  look(uid: string, signal: AbortSignal): Promise<PodRuntimeView> {
    return unlessAborted(this.#next(uid), signal);
  }

  /**
   * What was last seen, unless the pod was acted upon since that look began. A pod that was never acted upon and that the listing of
   * everything does not show has nothing in the runtime.
   */
  present(uid: string): PodRuntimeView | undefined {
    const act = this.#acts.get(uid);
    const seen = this.#options.podRuntimeStatus.get(uid);
    if (seen === undefined) return act === undefined && this.#listed?.has(uid) === false ? emptyView(uid) : undefined;
    return act === undefined || (this.#seenIn.get(uid) ?? 0) > act.afterLook ? seen : undefined;
  }

  /**
   * The pod after an act of its worker that went well: what was last seen, read again, and what the act has made. Without a listing, for
   * nobody else makes anything. After an act that failed only a look tells.
   */
  refresh(uid: string, made: MadeParts, signal: AbortSignal): Promise<PodRuntimeView> {
    const view = this.#looks.has(uid) ? this.#next(uid) : this.#begin(uid, () => this.#reread(uid, made));
    return unlessAborted(view, signal);
  }

  /** The runtime is about to be made to change this pod: until this is disposed of, and a look has begun after it, nothing is present. */
  acting(uid: string): Disposable {
    this.#acts.set(uid, UNDER_WAY);
    return {
      [Symbol.dispose]: () => {
        this.#actsOver += 1;
        this.#acts.set(uid, { afterLook: this.#begun.get(uid) ?? 0, number: this.#actsOver });
      },
    };
  }

  isActedUpon(uid: string): boolean {
    return this.#acts.get(uid) === UNDER_WAY;
  }

  /** Whether somebody looks, or will as soon as it has acted. */
  isAttended(uid: string): boolean {
    return this.isActedUpon(uid) || this.#looks.has(uid);
  }

  /** Asked before a listing of everything is read: it says nothing of what was made later. */
  get actsOver(): number {
    return this.#actsOver;
  }

  /** What a listing of everything says: pods that are gone are forgotten, and so is what was remembered of their containers. */
  noteListing(listings: ReadonlyMap<string, PodListing>, actsOver: number): void {
    const { podRuntimeStatus } = this.#options;
    this.#listed = new Set(listings.keys());
    const containers = new Set([...listings.values()].flatMap((listing) => listing.containers.map(({ id }) => id)));
    for (const id of this.#endedContainers.keys()) if (!containers.has(id)) this.#endedContainers.delete(id);
    const isGone = (uid: string) =>
      !listings.has(uid) && !this.#looks.has(uid) && (this.#acts.get(uid)?.number ?? 0) <= actsOver;
    for (const numbers of [this.#begun, this.#seenIn, this.#acts, this.#prints]) {
      for (const uid of numbers.keys()) if (isGone(uid)) numbers.delete(uid);
    }
    for (const uid of podRuntimeStatus.keys()) if (isGone(uid)) podRuntimeStatus.delete(uid);
    const unlabelled = [...listings].map(([uid, { sandboxes }]) => {
      return [uid, sandboxes.filter(({ labels }) => labels[POD_UID_LABEL] !== uid)] as const;
    });
    this.#unlabelled = new Map(unlabelled.filter(([, sandboxes]) => sandboxes.length > 0));
  }

  /** Whether what an event tells is in the cell. */
  knows(uid: string, { kind, containerId }: Pick<ContainerEvent, "kind" | "containerId">): boolean {
    const view = this.#options.podRuntimeStatus.get(uid);
    const part = [...(view?.containers ?? []), ...(view?.sandboxes ?? [])].find(({ id }) => id === containerId);
    if (kind === "deleted") return part === undefined;
    return part !== undefined && (kind === "created" || hasEnded(part) || (kind === "started" && isLiving(part)));
  }

  /** Whether a listing tells something of a pod that no look has found yet. */
  isNews(uid: string, listing: PodListing): boolean {
    return this.#prints.get(uid) !== fingerprint(listing);
  }

  #next(uid: string): Promise<PodRuntimeView> {
    const under = this.#looks.get(uid);
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
      this.#options.plegMetrics?.looks.observe(((this.#options.clock?.monotonicMs() ?? 0) - sinceMs) / 1000);
      return seen;
    });
    const look: Look = { view, next: undefined };
    this.#looks.set(uid, look);
    const done = () => {
      if (this.#looks.get(uid) === look) this.#looks.delete(uid);
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
    const view = podView(uid, ...(await this.#inspect(listing, signal)));
    this.#leave(view, listing);
    return view;
  }

  async #reread(uid: string, made: MadeParts): Promise<PodRuntimeView> {
    const before = this.#options.podRuntimeStatus.get(uid) ?? emptyView(uid);
    const madeIds = new Set([...made.sandboxIds, ...made.containers.map(({ id }) => id)]);
    // What was made may have been seen, and have ended, before the act was over.
    const others = <T extends { readonly id: string }>(parts: readonly T[]) =>
      parts.filter(({ id }) => !madeIds.has(id));
    const [ownSandboxes, ownContainers] = [others(before.sandboxes), others(before.containers)];
    const living = <T extends Part>(parts: readonly T[]) => parts.filter((part) => !hasEnded(part));
    const [sandboxes, containers] = await this.#inspect(
      {
        sandboxes: [...living(ownSandboxes), ...made.sandboxIds.map((id) => ({ id }))],
        containers: [...living(ownContainers), ...made.containers],
      },
      this.#options.shutdown,
    );
    const view = podView(
      uid,
      [...ownSandboxes.filter(hasEnded), ...sandboxes],
      [...ownContainers.filter(hasEnded), ...containers],
    );
    this.#leave(view, view);
    return view;
  }

  #leave(view: PodRuntimeView, listing: Parameters<typeof fingerprint>[0]): void {
    const { podRuntimeStatus } = this.#options;
    // A worker that looks after a failure must not be woken by that: it would never wait.
    if (!jsonEqual(podRuntimeStatus.get(view.uid), view)) podRuntimeStatus.set(view.uid, view);
    this.#prints.set(view.uid, fingerprint(listing));
  }

  #gone(uid: string): void {
    this.#prints.delete(uid);
    const { podRuntimeStatus, listedSandboxes } = this.#options;
    podRuntimeStatus.delete(uid);
    const listed = listedSandboxes.value;
    if (listed?.some(({ metadata }) => metadata.uid === uid) === true) {
      listedSandboxes.set(listed.filter(({ metadata }) => metadata.uid !== uid));
    }
  }

  async #inspect(
    { sandboxes, containers }: InspectedParts,
    signal: AbortSignal,
  ): Promise<[readonly SandboxStatus[], readonly PodContainer[]]> {
    const [sandboxStatuses, containerStatuses] = await Promise.all([
      Promise.all(sandboxes.map(({ id }) => this.#sandbox(id, signal))),
      Promise.all(containers.map(({ id, sandboxId }) => this.#container(id, sandboxId, signal))),
    ]);
    const present = <T>(value: T | undefined): value is T => value !== undefined;
    return [sandboxStatuses.filter(present), containerStatuses.filter(present)];
  }

  /** Undefined when it went away after it was listed. */
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
