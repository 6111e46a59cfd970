/**
 * Looks at single pods in the runtime and leaves what it saw in `podRuntimeStatus`, whose only writer it is. One pod whose look hangs
 * costs that pod alone. A look that was asked for always begins after the asking, so whoever acts upon it acts upon the present.
 */

import type { LatestCell } from "../../concurrency/latest-cell.ts";
import type { LatestTable } from "../../concurrency/latest-table.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import { POD_UID_LABEL } from "../../domain/pod/cri-keys.ts";
import { fingerprint, listingByPod, type PodListing } from "../../domain/pod/runtime-listing.ts";
import { emptyView, type PodContainer, type PodRuntimeView, podView } from "../../domain/pod/runtime-view.ts";
import type { Sandbox, SandboxStatus } from "../../domain/runtime/sandbox.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { isRuntimeError } from "../../ports/runtime-error.ts";

export interface ObserverOptions {
  readonly runtime: Pick<Runtime, "listSandboxes" | "listContainers" | "sandboxStatus" | "containerStatus">;
  readonly podRuntimeStatus: LatestTable<string, PodRuntimeView>;
  readonly listedSandboxes: LatestCell<readonly Sandbox[] | undefined>;
  readonly shutdown: AbortSignal;
}

interface Look {
  readonly view: Promise<PodRuntimeView>;
  /** Asked for while this one was under way; begins when it ends. */
  next: Promise<PodRuntimeView> | undefined;
}

export class Observer {
  readonly #options: ObserverOptions;
  readonly #looks = new Map<string, Look>();
  /** How many looks at each pod have begun; who saw a hint can tell whether one began after it. */
  readonly #begun = new Map<string, number>();
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

  /** What a listing of everything says: pods that are gone are forgotten, and so is what was remembered of their containers. */
  noteListing(listings: ReadonlyMap<string, PodListing>): void {
    const { podRuntimeStatus } = this.#options;
    const containers = new Set([...listings.values()].flatMap((listing) => listing.containers.map(({ id }) => id)));
    for (const id of this.#endedContainers.keys()) if (!containers.has(id)) this.#endedContainers.delete(id);
    for (const uid of this.#begun.keys()) if (!listings.has(uid) && !this.#looks.has(uid)) this.#begun.delete(uid);
    for (const uid of podRuntimeStatus.keys()) {
      if (!listings.has(uid) && !this.#looks.has(uid)) podRuntimeStatus.delete(uid);
    }
    for (const uid of this.#prints.keys()) if (!listings.has(uid)) this.#prints.delete(uid);
    const unlabelled = [...listings].map(([uid, { sandboxes }]) => {
      return [uid, sandboxes.filter(({ labels }) => labels[POD_UID_LABEL] !== uid)] as const;
    });
    this.#unlabelled = new Map(unlabelled.filter(([, sandboxes]) => sandboxes.length > 0));
  }

  looksBegun(uid: string): number {
    return this.#begun.get(uid) ?? 0;
  }

  /** Whether a listing tells something of a pod that no look has found yet. */
  isNews(uid: string, listing: PodListing): boolean {
    return this.#prints.get(uid) !== fingerprint(listing);
  }

  #next(uid: string): Promise<PodRuntimeView> {
    const under = this.#looks.get(uid);
    if (under === undefined) return this.#begin(uid);
    const again = () => this.#begin(uid);
    under.next ??= under.view.then(again, again);
    return under.next;
  }

  #begin(uid: string): Promise<PodRuntimeView> {
    this.#begun.set(uid, this.looksBegun(uid) + 1);
    const view = this.#read(uid, this.#options.shutdown);
    const look: Look = { view, next: undefined };
    this.#looks.set(uid, look);
    const done = () => {
      if (this.#looks.get(uid) === look) this.#looks.delete(uid);
    };
    view.then(done, done);
    return view;
  }

  async #read(uid: string, signal: AbortSignal): Promise<PodRuntimeView> {
    const { runtime, podRuntimeStatus } = this.#options;
    const labels = { [POD_UID_LABEL]: uid };
    const [sandboxes, containers] = await Promise.all([
      runtime.listSandboxes({ labels }, signal),
      runtime.listContainers({ labels }, signal),
    ]);
    const all = [...sandboxes, ...(this.#unlabelled.get(uid) ?? [])];
    const listing = listingByPod(all, containers).get(uid);
    const view = listing === undefined ? emptyView(uid) : await this.#inspect(uid, listing, signal);
    if (listing === undefined) this.#gone(uid);
    else {
      podRuntimeStatus.set(uid, view);
      this.#prints.set(uid, fingerprint(listing));
    }
    return view;
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

  async #inspect(uid: string, { sandboxes, containers }: PodListing, signal: AbortSignal): Promise<PodRuntimeView> {
    const [sandboxStatuses, containerStatuses] = await Promise.all([
      Promise.all(sandboxes.map(({ id }) => this.#sandbox(id, signal))),
      Promise.all(containers.map(({ id, sandboxId }) => this.#container(id, sandboxId, signal))),
    ]);
    const present = <T>(value: T | undefined): value is T => value !== undefined;
    return podView(uid, sandboxStatuses.filter(present), containerStatuses.filter(present));
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
