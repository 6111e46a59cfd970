/**
 * Ensures that this node's Node exists on the API server: creates it, or reconciles our fields on the existing one. The
 * Node is never deleted and recreated: that would delete its lease, volumes and pods as well.
 */
import type { Node } from "../../api/gen/core-v1.ts";
import { nodes } from "../../api/resources.ts";
import { doublingMs } from "../../base/backoff.ts";
import { errorText } from "../../base/error-text.ts";
import { linkSignals } from "../../concurrency/abort.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { pause } from "../../concurrency/sleep.ts";
import { waitForValue } from "../../concurrency/wait-for-value.ts";
import { initialNode, type RegistrationOptions, reconciledNode } from "../../domain/node/initial-node.ts";
import { nodePatch } from "../../domain/node/node-patch.ts";
import type { NodeEvent, NodeOptions } from "../../domain/node/node-status.ts";
import type { Registration } from "../../domain/node/own-node.ts";
import { networkTroubles, type RuntimeHealth, runtimeTroubles } from "../../domain/node/runtime-health.ts";
import { ApiError, isAlreadyExists } from "../../ports/api-error.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Log } from "../../ports/log.ts";
import { tellNodeEvents } from "./node-events.ts";
import type { SnapshotReader } from "./snapshot.ts";

const RETRY = { firstMs: 100, maxMs: 7_000 };
/** If the runtime responds well within this time, the Node is registered as Ready. */
const RUNTIME_LIMIT_MS = 1000;

export interface RegisterParts {
  readonly api: Pick<ApiServer, "create" | "get" | "patch">;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  readonly snapshots: Pick<SnapshotReader, "read">;
  readonly runtimeHealth: Latest<RuntimeHealth>;
  readonly nodeRegistered: LatestCell<Registration>;
  readonly registerNode: boolean;
  readonly registration: RegistrationOptions;
  readonly options: NodeOptions;
  readonly onAttempt?: () => void;
}

interface Registered {
  readonly node: Node;
  readonly events: readonly NodeEvent[];
  readonly reported: boolean;
}

/** Ends when the Node exists or the signal aborts. */
export async function runRegistration(parts: RegisterParts, shutdown: AbortSignal): Promise<void> {
  const { clock, log, nodeRegistered, options } = parts;
  if (!parts.registerNode) {
    nodeRegistered.set({ kind: "left to others" });
    return;
  }
  await runtimeWell(parts, shutdown);
  for (let failures = 1; !shutdown.aborted; failures += 1) {
    log.info(0, "Attempting to register node", { node: options.name });
    parts.onAttempt?.();
    try {
      const { node, events, reported } = await register(parts, shutdown);
      log.info(0, "Successfully registered node", { node: options.name });
      nodeRegistered.set({ kind: "registered", node, reported });
      tellNodeEvents(parts.events, options.name, events);
      return;
    } catch (error) {
      if (shutdown.aborted) return;
      log.error("Unable to register node with API server", error, { node: options.name });
      nodeRegistered.set({ kind: "pending", why: errorText(error) });
    }
    await pause(clock, doublingMs(RETRY, failures), shutdown);
  }
}

async function runtimeWell({ runtimeHealth, clock }: RegisterParts, shutdown: AbortSignal): Promise<void> {
  const isWell = (health: RuntimeHealth) =>
    runtimeTroubles(health).length === 0 && networkTroubles(health).length === 0;
  using limited = linkSignals(shutdown);
  const cancel = clock.after(RUNTIME_LIMIT_MS, () => limited.abort(new Error("the runtime took too long")));
  try {
    await waitForValue(runtimeHealth, isWell, limited.signal);
  } catch {
    // Time is up or the kubelet shuts down; the caller checks which.
  } finally {
    cancel();
  }
}

async function register(parts: RegisterParts, signal: AbortSignal): Promise<Registered> {
  const { api, snapshots, registration, options } = parts;
  const initial = initialNode(registration, await snapshots.read(undefined, signal), options);
  try {
    return { node: await api.create(nodes, initial.node, signal), events: initial.events, reported: true };
  } catch (error) {
    // Without permission to create, the operator may have created the Node.
    if (!isAlreadyExists(error) && !isForbidden(error)) throw error;
  }
  const existing = await api.get(nodes, { name: options.name }, signal);
  const body = nodePatch(existing, reconciledNode(existing, initial.node, registration));
  if (body === undefined) return { node: existing, events: [], reported: false };
  const patch = { kind: "strategic", body } as const;
  const node = await api.patch(nodes, { name: options.name }, patch, { subresource: "status" }, signal);
  return { node, events: [], reported: false };
}

const isForbidden = (error: unknown) => error instanceof ApiError && error.status === 403;
