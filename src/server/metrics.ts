/**
 * This kubelet's own metrics: /metrics, /metrics/slis and /metrics/probes. They are collected and formatted at most
 * once a second and shared between clients.
 */
import type { ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type ExpositionFormat, writeExposition } from "../base/metrics/exposition.ts";
import type { Family } from "../base/metrics/family.ts";
import { negotiateFormat, takesGzip } from "../base/metrics/negotiate.ts";
import type { Registry } from "../base/metrics/registry.ts";
import { CachedReading } from "../concurrency/cached-reading.ts";
import { processFamilies, processStartFamily } from "../domain/metrics/process-families.ts";
import type { Clock } from "../ports/clock.ts";
import type { OwnProcess } from "../ports/own-process.ts";
import { ANY_METHOD } from "./plain-route.ts";
import type { Route, RouteRequest } from "./route.ts";

export interface MetricsParts {
  readonly clock: Clock;
  readonly process: OwnProcess;
  /** Metrics of the kubelet itself. */
  readonly registry: Pick<Registry, "collect">;
  /** Metrics of its health checks. */
  readonly health: Pick<Registry, "collect">;
  /** Metrics of its probes. */
  readonly probes: Pick<Registry, "collect">;
  /** Additional families for /metrics from other components. */
  readonly more: readonly (() => Promise<readonly Family[]>)[];
}

export function metricsRoutes(parts: MetricsParts): readonly Route[] {
  const { process, registry, health, probes, more } = parts;
  const own = async (): Promise<readonly Family[]> => {
    const [facts, ...others] = await Promise.all([process.facts(), ...more.map((collect) => collect())]);
    return [...registry.collect(), ...processFamilies(facts), ...others.flat()].toSorted(byName);
  };
  const beside = (beginning: Pick<Registry, "collect">) => async () =>
    [...beginning.collect(), processStartFamily(await startOf(process))].toSorted(byName);
  return [
    expositionRoute("/metrics", own, parts),
    expositionRoute("/metrics/slis", beside(health), parts),
    expositionRoute("/metrics/probes", beside(probes), parts),
  ];
}

const startOf = async (process: OwnProcess) => ({ startWallMs: (await process.begin()).processWallMs });

const byName = (a: Family, b: Family): number => (a.name < b.name ? -1 : 1);

/**
 * Serves the families at `path`, collected at most once a second, in the format and compression that the client
 * accepts.
 */
function expositionRoute(
  path: string,
  collect: () => Promise<readonly Family[]>,
  { clock, process }: Pick<MetricsParts, "clock" | "process">,
): Route {
  const shared = new SharedText(collect, clock);
  return {
    path,
    methods: ANY_METHOD,
    subresources: ["metrics"],
    switch: "none",
    readOnlyPort: true,
    longRunning: false,
    async answer({ request, signal }: RouteRequest, response: ServerResponse) {
      const { format, contentType } = negotiateFormat(request.headers.accept);
      const isPacked = takesGzip(request.headers["accept-encoding"]?.toString());
      const body = await shared.of(format, isPacked, signal);
      const { startWallMs } = await startOf(process);
      response.writeHead(200, {
        "Content-Type": contentType,
        "Content-Length": body.byteLength,
        "Process-Start-Time-Unix": Math.floor(startWallMs / 1000),
        ...(isPacked ? { "Content-Encoding": "gzip" } : {}),
      });
      response.end(request.method === "HEAD" ? undefined : body);
    },
  };
}

const packed = promisify(gzip);

/** One collection for all requests within a second, with the formatted texts. */
class SharedText {
  readonly #collections: CachedReading<"all", Collection>;

  constructor(collect: () => Promise<readonly Family[]>, clock: Clock) {
    const read = async (): Promise<Collection> => ({ families: await collect(), written: new Map() });
    this.#collections = new CachedReading({ clock, details: ["all"], read });
  }

  async of(format: ExpositionFormat, isPacked: boolean, signal: AbortSignal): Promise<Uint8Array> {
    const { families, written } = await this.#collections.read("all", signal);
    const key = `${format} ${isPacked}`;
    const known = written.get(key) ?? write(families, format, isPacked);
    written.set(key, known);
    return known;
  }
}

interface Collection {
  readonly families: readonly Family[];
  /** By format and compression. */
  readonly written: Map<string, Promise<Uint8Array>>;
}

async function write(families: readonly Family[], format: ExpositionFormat, isPacked: boolean): Promise<Uint8Array> {
  const text = writeExposition(families, format);
  return isPacked ? packed(text) : text;
}
