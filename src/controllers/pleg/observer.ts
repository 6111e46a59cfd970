/**
 * Looks at single pods in the runtime and leaves what it saw in `podRuntimeStatus`, whose only writer it is. One pod whose look hangs
 * costs that pod alone. A look that was asked for always begins after the asking, so whoever acts upon it acts upon the present.
 */

import type { LatestTable } from "../../concurrency/latest-table.ts";
import { POD_UID_LABEL } from "../../domain/pod/cri-keys.ts";
import { listingByPod, type PodListing } from "../../domain/pod/runtime-listing.ts";
import { emptyView, type PodContainer, type PodRuntimeView, podView } from "../../domain/pod/runtime-view.ts";
import type { SandboxStatus } from "../../domain/runtime/sandbox.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { isRuntimeError } from "../../ports/runtime-error.ts";

export interface ObserverOptions {
  readonly runtime: Pick<Runtime, "listSandboxes" | "listContainers" | "sandboxStatus" | "containerStatus">;
  readonly podRuntimeStatus: LatestTable<string, PodRuntimeView>;
}

interface Look {
  readonly view: Promise<PodRuntimeView>;
  /** Asked for while this one was under way; begins when it ends. */
  next: Promise<PodRuntimeView> | undefined;
}

export class Observer {
  readonly #options: ObserverOptions;
  readonly #looks = new Map<string, Look>();
  /** What does not change any more once seen, by id: an ended container, a stopped sandbox. */
  readonly #settledContainers = new Map<string, PodContainer>();

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  /** Rejects when the runtime does not answer; what was known stays known. */
  look(uid: string, signal: AbortSignal): Promise<PodRuntimeView> {
    const under = this.#looks.get(uid);
    if (under === undefined) return this.#begin(uid, signal);
    const again = () => this.#begin(uid, signal);
    under.next ??= under.view.then(again, again);
    return under.next;
  }

  /** What the runtime no longer lists at all. */
  forget(uid: string): void {
    this.#options.podRuntimeStatus.delete(uid);
  }

  /** Containers that are gone need no remembering. */
  keepSettled(ids: ReadonlySet<string>): void {
    for (const id of this.#settledContainers.keys()) if (!ids.has(id)) this.#settledContainers.delete(id);
  }

  #begin(uid: string, signal: AbortSignal): Promise<PodRuntimeView> {
    const view = this.#read(uid, signal);
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
    const listing = listingByPod(sandboxes, containers).get(uid);
    const view = listing === undefined ? emptyView(uid) : await this.#inspect(uid, listing, signal);
    if (listing === undefined) podRuntimeStatus.delete(uid);
    else podRuntimeStatus.set(uid, view);
    return view;
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
    const settled = this.#settledContainers.get(id);
    if (settled !== undefined) return settled;
    try {
      const { status } = await this.#options.runtime.containerStatus(id, { verbose: false }, signal);
      const container = { ...status, sandboxId };
      if (status.state === "exited") this.#settledContainers.set(id, container);
      return container;
    } catch (error) {
      if (isRuntimeError(error, "notFound")) return undefined;
      throw error;
    }
  }
}
