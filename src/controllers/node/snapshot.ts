/**
 * Reads everything that the node status consists of into one value. What cannot be read is logged and left undefined.
 */
import type { Node } from "../../api/gen/core-v1.ts";
import { parseIp } from "../../base/ip-address.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import { type AddressFacts, needsResolving, nodeAddresses } from "../../domain/node/addresses.ts";
import type { Pressure } from "../../domain/node/conditions.ts";
import type { NodeOptions, NodeSnapshot, NotReadyReasons } from "../../domain/node/node-status.ts";
import type { RuntimeHealth } from "../../domain/node/runtime-health.ts";
import type { QosCgroupState } from "../../domain/resources/qos-cgroup-state.ts";
import type { Image } from "../../domain/runtime/image.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Machine, MachineFacts } from "../../ports/machine.ts";

/** An unavailable DNS service must not hold up the status. */
const LOOKUP_LIMIT_MS = 5000;

export interface SnapshotParts {
  readonly machine: Pick<Machine, "facts" | "filesystem" | "addresses" | "defaultRouteAddress" | "lookup">;
  readonly clock: Clock;
  readonly log: Log;
  readonly runtimeHealth: Latest<RuntimeHealth>;
  readonly pressure: Latest<Pressure>;
  readonly nodeImages: Latest<readonly Image[] | undefined>;
  readonly volumesInUse: Latest<readonly string[] | undefined>;
  readonly nodeNotReadyReasons: Latest<NotReadyReasons>;
  readonly qosCgroups: Latest<QosCgroupState>;
  readonly rootDirectory: string;
  readonly options: NodeOptions;
}

export class SnapshotReader {
  readonly #parts: SnapshotParts;
  /**
   * Machine facts do not change while the machine is up. The size of some filesystems varies slightly, so it is read
   * only once.
   */
  #machine: MachineFacts | undefined;
  #rootBytes: bigint | undefined;

  constructor(parts: SnapshotParts) {
    this.#parts = parts;
  }

  async read(known: Node | undefined, signal: AbortSignal): Promise<NodeSnapshot> {
    const { machine, clock, rootDirectory, options } = this.#parts;
    const facts = (this.#machine ??= await this.#attempt("facts", () => machine.facts()));
    if (options.localStorage) {
      const read = async () => (await machine.filesystem(rootDirectory)).capacityBytes;
      this.#rootBytes ??= await this.#attempt("root directory", read);
    }
    const existing = known?.status?.addresses ?? [];
    const addresses = nodeAddresses(options, existing, await this.#addressFacts(known, signal));
    if (addresses.kind === "keep" && addresses.trouble !== undefined) {
      this.#parts.log.error("Failed to set some node status fields", new Error(addresses.trouble));
    }
    return {
      ...this.readiness(),
      nowWallMs: clock.wallMs(),
      machine: facts,
      rootBytes: this.#rootBytes,
      addresses,
      pressure: this.#parts.pressure.value,
      images: this.#parts.nodeImages.value,
      volumesInUse: this.#parts.volumesInUse.value,
    };
  }

  /** The part that can be read without I/O. */
  readiness(): Pick<NodeSnapshot, "runtime" | "notReadyReasons" | "qosCgroups"> {
    const { runtimeHealth, nodeNotReadyReasons, qosCgroups } = this.#parts;
    return { runtime: runtimeHealth.value, notReadyReasons: nodeNotReadyReasons.value, qosCgroups: qosCgroups.value };
  }

  async #addressFacts(known: Node | undefined, signal: AbortSignal): Promise<AddressFacts> {
    const { machine, clock, options } = this.#parts;
    const interfaces = (await this.#attempt("addresses", () => machine.addresses())) ?? [];
    const local = new Set(interfaces.map(({ address }) => parseIp(address)?.text ?? address));
    if (!needsResolving(options, known?.status?.addresses ?? [])) {
      return { local, resolved: [], defaultRoutes: { IPv4: undefined, IPv6: undefined } };
    }
    const resolved = await withDeadline(clock, LOOKUP_LIMIT_MS, signal, (limited) =>
      machine.lookup(options.hostname, limited),
    ).catch(() => []); // A name that does not resolve is the usual case: the default route decides then.
    const route = (family: "IPv4" | "IPv6") => this.#attempt("route", () => machine.defaultRouteAddress(family));
    return { local, resolved, defaultRoutes: { IPv4: await route("IPv4"), IPv6: await route("IPv6") } };
  }

  async #attempt<T>(what: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      this.#parts.log.error("Failed to read machine information", error, { what });
      return undefined;
    }
  }
}
