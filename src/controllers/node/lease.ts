/**
 * Renews the node's Lease independently of all other work: with a dedicated API client, one request per renewal, from
 * the copy of the last renewal. The Lease is read only when it is unknown or when someone else has changed it.
 */

import type { Lease } from "../../api/gen/coordination-v1.ts";
import { leases } from "../../api/resources.ts";
import { doublingMs } from "../../base/backoff.ts";
import { unlessShutDown } from "../../concurrency/abort.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { Heartbeat } from "../../concurrency/loop-heartbeats.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { LEASE_NAMESPACE, type LeaseOptions, newLease, renewEveryMs, renewedLease } from "../../domain/node/lease.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../ports/api-error.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";

/** This many attempts follow each other immediately; later ones are delayed. */
const TRIES_AT_ONCE = 5;
const RETRY = { firstMs: 200, maxMs: 7_000 };

export interface LeaseParts {
  /** A client for heartbeats only, without a rate limit and with a timeout on the order of the lease duration. */
  readonly api: Pick<ApiServer, "get" | "create" | "update">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly ownNode: Latest<OwnNode>;
  readonly options: LeaseOptions;
  /** Called from the second failure in a row on: the connection may be the problem. */
  readonly onRepeatedFailure: () => void;
  readonly heartbeat: Heartbeat;
}

export async function runLease(parts: LeaseParts, shutdown: AbortSignal): Promise<void> {
  const loop = new LeaseLoop(parts);
  await unlessShutDown(shutdown, async () => {
    for (;;) {
      await loop.renew(shutdown);
      await sleep(parts.clock, renewEveryMs(parts.options, parts.random.fraction()), shutdown);
    }
  });
}

class LeaseLoop {
  readonly #parts: LeaseParts;
  /** As last returned by the API server. */
  #known: Lease | undefined;
  #nodeUid: string | undefined;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
  }

  /** Resolves when the Lease is renewed; rejects only with the signal's reason. */
  async renew(shutdown: AbortSignal): Promise<void> {
    const { clock, log, onRepeatedFailure } = this.#parts;
    for (let failures = 0; ; ) {
      this.#parts.heartbeat.beat();
      try {
        await this.#renewOnce(shutdown);
        return;
      } catch (error) {
        shutdown.throwIfAborted();
        // The known copy does not match the API server's state.
        if (isConflict(error) || isNotFound(error) || isAlreadyExists(error)) this.#known = undefined;
        failures += 1;
        log.error("Failed to update lease", error, { failures });
        if (failures > 1) onRepeatedFailure();
      }
      const spaced = failures - TRIES_AT_ONCE;
      if (spaced >= 0) await sleep(clock, doublingMs(RETRY, spaced + 1), shutdown);
    }
  }

  async #renewOnce(signal: AbortSignal): Promise<void> {
    const { api, clock, options } = this.#parts;
    const known = this.#known ?? (await this.#find(signal));
    const nodeUid = await this.#uid(signal);
    const lease =
      known === undefined
        ? await api.create(leases, newLease(options, nodeUid, clock.wallMs()), signal)
        : await api.update(leases, renewedLease(known, options, nodeUid, clock.wallMs()), {}, signal);
    this.#known = lease;
  }

  async #find(signal: AbortSignal): Promise<Lease | undefined> {
    const { api, options } = this.#parts;
    try {
      return await api.get(leases, { name: options.nodeName, namespace: LEASE_NAMESPACE }, signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** A Lease without an owner would outlive its node: the first Lease waits until the Node is known. */
  async #uid(signal: AbortSignal): Promise<string> {
    const { ownNode, heartbeat } = this.#parts;
    for (let seen = ownNode.version; ; seen = await heartbeat.waits(ownNode.changed(seen, signal))) {
      const { value } = ownNode;
      if (value.kind === "present") this.#nodeUid = value.node.metadata?.uid ?? this.#nodeUid;
      if (this.#nodeUid !== undefined) return this.#nodeUid;
    }
  }
}
