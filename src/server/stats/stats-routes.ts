/** What the node uses: /stats/summary, /metrics/resource and /metrics/cadvisor. Each answer is from a reading that others may share. */
import type { ServerResponse } from "node:http";
import { errorText } from "../../base/error-text.ts";
import type { Family } from "../../base/metrics/family.ts";
import { containerFamilies } from "../../domain/stats/cadvisor-metrics.ts";
import type { Telling } from "../../domain/stats/group-stats.ts";
import { logFamilies } from "../../domain/stats/log-metrics.ts";
import { machineFamilies } from "../../domain/stats/machine-metrics.ts";
import { resourceFamilies } from "../../domain/stats/resource-metrics.ts";
import { type SummaryInputs, summaryOf, usageSummaryOf } from "../../domain/stats/summary.ts";
import type { Summary } from "../../domain/stats/summary-shape.ts";
import { volumeFamilies } from "../../domain/stats/volume-metrics.ts";
import type { Machine } from "../../ports/machine.ts";
import { type Asked, Refusal, type Route } from "../route.ts";
import { answerMetrics } from "./answer-metrics.ts";
import { asksForUsageOnly } from "./form.ts";
import { Layers, type LayersParts } from "./layers.ts";
import { type NodeFigures, type NodeFiguresParts, NodeFiguresReader } from "./node-figures.ts";
import { SandboxImages, type SandboxImagesParts } from "./sandbox-images.ts";
import { VolumeUsage, type VolumeUsageParts } from "./volume-usage.ts";

export type StatsParts = Omit<NodeFiguresParts, "storagePaths"> &
  LayersParts &
  VolumeUsageParts &
  SandboxImagesParts & {
    readonly machine: Pick<Machine, "facts" | "processCount">;
    readonly nodeName: string;
    /** The gate KubeletPSI. */
    readonly tellsPressure: boolean;
  };

export interface StatsDesk {
  readonly routes: readonly Route[];
  /** Of /metrics: how full the volumes behind claims are. */
  readonly volumeFamilies: (signal: AbortSignal) => Promise<readonly Family[]>;
  /** Of /metrics: how much the logs of containers take. */
  readonly logFamilies: (signal: AbortSignal) => Promise<readonly Family[]>;
}

const GET_OR_POST = { methods: ["GET", "POST"], switch: "none", readOnlyPort: true, longRunning: false } as const;

export function statsDesk(parts: StatsParts, shutdown: AbortSignal): StatsDesk {
  const startedWallMs = parts.clock.wallMs();
  const layers = new Layers(parts, shutdown);
  const figures = new NodeFiguresReader({ ...parts, storagePaths: () => layers.mountpoints }, shutdown);
  const volumes = new VolumeUsage(parts, shutdown);
  const images = new SandboxImages(parts);
  const inputsOf = (read: NodeFigures): SummaryInputs => ({
    ...read,
    nodeName: parts.nodeName,
    startedWallMs,
    telling: tellingOf(read, parts),
  });

  const summary = async (signal: AbortSignal): Promise<Summary> => {
    const containers = parts.podRuntimeStatus.keys().flatMap((uid) => runningOf(parts, uid));
    // Its word says whose room is told.
    const told = await layers.ask(containers, signal);
    const [read, volumesByPod, facts, count] = await Promise.all([
      figures.ask("summary", signal),
      volumes.ask(signal),
      parts.machine.facts(),
      parts.machine.processCount(),
    ]);
    return summaryOf(inputsOf(read), {
      ...told,
      folders: parts.folders,
      volumesOf: (uid) => volumesByPod.get(uid) ?? [],
      processes: { count, max: facts.pidsMax },
      nowWallMs: parts.clock.wallMs(),
    });
  };

  const resource = async (asked: Asked, response: ServerResponse) => {
    const read = await figures.ask("usage", asked.signal).catch((error: unknown) => {
      asked.signal.throwIfAborted();
      parts.log.error("Error getting summary for resourceMetric prometheus endpoint", error);
      return undefined;
    });
    await answerMetrics(asked, response, resourceFamilies(read?.reading, read?.pods ?? []));
  };

  const cadvisor = async (asked: Asked, response: ServerResponse) => {
    const [read, facts] = await Promise.all([figures.ask("everything", asked.signal), parts.machine.facts()]);
    const sandboxImages = await images.ask(
      read.pods.map(({ sandboxId }) => sandboxId),
      asked.signal,
    );
    const ofContainers = containerFamilies({
      ...read,
      sandboxImages,
      tellsPressure: parts.tellsPressure,
      nowWallMs: parts.clock.wallMs(),
    });
    await answerMetrics(asked, response, inOrder(machineFamilies(facts), ofContainers));
  };

  return {
    routes: [
      {
        ...GET_OR_POST,
        path: "/stats/summary",
        subresources: ["stats"],
        answer: async (asked, response) => {
          const usageOnly = await asksForUsageOnly(asked);
          const told = await (usageOnly
            ? figures.ask("usage", asked.signal).then((read) => usageSummaryOf(inputsOf(read)))
            : summary(asked.signal)
          ).catch((error: unknown) => {
            asked.signal.throwIfAborted();
            throw new Refusal(500, `Internal Error: ${errorText(error)}`);
          });
          sendSummary(response, told);
        },
      },
      metricsRoute("/metrics/resource", resource),
      metricsRoute("/metrics/cadvisor", cadvisor),
    ],
    logFamilies: async (signal) => {
      const { pods, reading } = await figures.ask("summary", signal);
      return logFamilies(pods, reading, parts.folders);
    },
    volumeFamilies: async (signal) =>
      volumeFamilies([...(await volumes.ask(signal)).values()].flat().map(({ stats }) => stats)),
  };
}

const tellingOf = ({ nanoCoresOf }: NodeFigures, { tellsPressure }: StatsParts): Telling => ({
  nanoCoresOf,
  tellsPressure,
});

const runningOf = ({ podRuntimeStatus }: StatsParts, uid: string): readonly string[] =>
  (podRuntimeStatus.get(uid)?.containers ?? []).filter(({ state }) => state === "running").map(({ id }) => id);

/** Both in the order of their names; those of the machine stand around the others. */
function* inOrder(machine: readonly Family[], containers: Iterable<Family>): Generator<Family> {
  yield* machine.filter(({ name }) => name < "container");
  yield* containers;
  yield* machine.filter(({ name }) => name >= "container");
}

const metricsRoute = (path: string, answer: Route["answer"]): Route => ({
  path,
  methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
  subresources: ["metrics"],
  switch: "none",
  readOnlyPort: true,
  longRunning: false,
  answer,
});

function sendSummary(response: ServerResponse, summary: Summary): void {
  const body = Buffer.from(JSON.stringify(summary, undefined, 1));
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": body.length });
  response.end(body);
}
