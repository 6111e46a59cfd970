/**
 * Reads what admission needs to know about the node. Pods that arrive while the Node is read from the API server wait
 * for the response, so the read has a deadline.
 */
import type { Node } from "../../api/gen/core-v1.ts";
import { nodes } from "../../api/resources.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { AdmissionContext, AdmissionGates } from "../../domain/admission/admission-context.ts";
import { type SysctlRules, sysctlRules } from "../../domain/admission/sysctls.ts";
import type { RuntimeClasses } from "../../domain/container-config/runtime-handler.ts";
import type { Pressure } from "../../domain/node/conditions.ts";
import { isComplete, type NotReadyReasons } from "../../domain/node/node-status.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import type { RuntimeHealth } from "../../domain/node/runtime-health.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Machine } from "../../ports/machine.ts";

const FETCH_MS_MAX = 5_000;

export interface AdmissionContextParts {
  readonly machine: Pick<Machine, "facts">;
  /** Undefined on a node without an API server. */
  readonly api: Pick<ApiServer, "get"> | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** This node's Node, even if the API server does not have it. */
  readonly localNode: (signal: AbortSignal) => Promise<Node>;
  readonly ownNode: Latest<OwnNode>;
  readonly runtimeClasses: Latest<RuntimeClasses>;
  readonly runtimeHealth: Latest<RuntimeHealth>;
  readonly pressure: Latest<Pressure>;
  readonly nodeNotReadyReasons: Latest<NotReadyReasons>;
  readonly nodeName: string;
  readonly allowedUnsafeSysctls: readonly string[];
  readonly gates: AdmissionGates;
  readonly declaredFeatures: readonly string[] | undefined;
  readonly volumeSources: ReadonlySet<string>;
}

export class AdmissionContextReader {
  readonly #parts: AdmissionContextParts;
  /** Does not change while this process runs. */
  #machine: { readonly sysctls: SysctlRules; readonly apparmor: boolean } | undefined;

  constructor(parts: AdmissionContextParts) {
    this.#parts = parts;
  }

  /** A pod may wait for a change of one of these. */
  get awaited(): readonly Latest<unknown>[] {
    return [this.#parts.runtimeClasses, this.#parts.ownNode];
  }

  async read(signal: AbortSignal): Promise<AdmissionContext> {
    const {
      localNode,
      pressure,
      runtimeClasses,
      runtimeHealth,
      nodeNotReadyReasons,
      gates,
      declaredFeatures,
      volumeSources,
    } = this.#parts;
    const machine = (this.#machine ??= await this.#readMachine());
    const nodeAsIs = await localNode(signal);
    const health = runtimeHealth.value;
    return {
      ...machine,
      node: ifComplete(nodeAsIs),
      nodeAsIs,
      mustDecide: false,
      pressure: pressure.value,
      knowsRuntimeClasses: runtimeClasses.value !== undefined,
      strictGroups: health.kind === "answered" && health.status.supplementalGroupsPolicy,
      gates,
      declaredFeatures,
      volumeSources,
      isShuttingDown: nodeNotReadyReasons.value.shutdown !== undefined,
    };
  }

  /** The Node from the API server; undefined if the server does not respond or the Node is incomplete. */
  async fetchNode(signal: AbortSignal): Promise<Node | undefined> {
    const { api, clock, log, nodeName } = this.#parts;
    if (api === undefined) return undefined;
    try {
      return ifComplete(
        await withDeadline(clock, FETCH_MS_MAX, signal, (limited) => api.get(nodes, { name: nodeName }, limited)),
      );
    } catch (error) {
      signal.throwIfAborted();
      log.error("Failed to read the Node, admission uses the last known one", error, { node: nodeName });
      return undefined;
    }
  }

  async #readMachine() {
    const { kernelVersion, apparmor } = await this.#parts.machine.facts();
    return { sysctls: sysctlRules(kernelVersion, this.#parts.allowedUnsafeSysctls), apparmor };
  }
}

const ifComplete = (node: Node): Node | undefined => (isComplete(node) ? node : undefined);
