/**
 * Composes the whole kubelet from ports and options and names no adapter: the simulator calls it too. The code reads as
 * the wiring diagram: each loop with its ports and cells. Loops that need no runtime start at once. Work that needs the
 * runtime starts when the runtime first reports ready, so that a kubelet started before its runtime waits and then
 * continues.
 */
import { LoopHeartbeats } from "../concurrency/loop-heartbeats.ts";
import { readCheckpoints, writeCheckpoints } from "../controllers/checkpoints/resize-checkpoints.ts";
import { EventRecorder } from "../controllers/events/event-recorder.ts";
import { logEventSink } from "../controllers/events/log-sink.ts";
import { JournalEventSink, teeEventSink } from "../controllers/explain/journal-event-sink.ts";
import { noteRuntimeHealth } from "../controllers/explain/runtime-health-notes.ts";
import { createJournal } from "../controllers/journal/journal.ts";
import { logJournalProblem } from "../controllers/journal/log-problem.ts";
import { Pleg } from "../controllers/pleg/pleg.ts";
import { PodInspector } from "../controllers/pleg/pod-inspector.ts";
import { watchRuntimeHealth } from "../controllers/pleg/runtime-health.ts";
import { runPodConfig } from "../controllers/pod-config/pod-config.ts";
import type { NodeStats } from "../controllers/stats/node-stats.ts";
import { foldJournaledPods } from "../domain/journal/journaled-pod.ts";
import { decisionRecord } from "../domain/journal/records.ts";
import { type KubeletMetrics, kubeletMetrics } from "../domain/metrics/kubelet-metrics.ts";
import { adoptCheckpoints } from "../domain/resize/adopt-checkpoints.ts";
import { staticPodFacts } from "../domain/static-pods/static-pod-uid.ts";
import type { ApiServer } from "../ports/api-server.ts";
import { admissionLoop, type MakePodAllocator, POD_ALLOCATORS } from "./compose-admission.ts";
import { nodeStateLoops } from "./compose-explain.ts";
import { hostLoops, prepareHost } from "./compose-host.ts";
import { clientCertificateLoops } from "./compose-identity.ts";
import { instrumentedPorts, metricsLoops, readCells, readConstants } from "./compose-metrics.ts";
import { localNodeOf, nodeLoops } from "./compose-node.ts";
import { podLoops, podSources } from "./compose-pods.ts";
import { statsOf } from "./compose-stats.ts";
import { nameOfPod } from "./local-pods.ts";
import { watchLoops } from "./loop-watchdog.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import { type Cells, type KubeletPorts, type Loop, makeCells, type Wiring } from "./wiring.ts";

export interface Kubelet {
  /** Ends when `shutdown` aborts and every loop has ended; pods stay as they are. Rejects when a loop fails. */
  run(shutdown: AbortSignal): Promise<void>;
  /** Heartbeats of the watched loops, for the health checks. */
  readonly heartbeats: LoopHeartbeats;
  readonly cells: Cells;
  readonly metrics: KubeletMetrics;
  /** The usage of the node and its pods: one cached reading for the eviction of pods and the node's API. */
  readonly stats: NodeStats;
  /** The given ports with their calls counted, for modules that run beside the kubelet. */
  readonly ports: KubeletPorts;
}

export function compose(
  given: KubeletPorts,
  options: CompiledOptions,
  allocators: readonly MakePodAllocator[] = POD_ALLOCATORS,
): Kubelet {
  const cells = makeCells();
  const metrics = kubeletMetrics(() => given.clock.monotonicMs());
  readConstants(metrics.registry, options);
  readCells(metrics.registry, cells, options);
  const ports = instrumentedPorts(given, metrics, (uid) => nameOfPod(cells, uid));
  const heartbeats = new LoopHeartbeats(given.clock);
  const watched = watchLoops(heartbeats, options, given.api !== undefined);
  const ended = new AbortController();
  // Stats use the uncounted ports: their runtime calls are not counted, as in the Go kubelet.
  const stats = statsOf({ ports: given, options, cells }, ended.signal);
  return {
    cells,
    metrics,
    stats,
    ports,
    heartbeats,
    run: (shutdown) =>
      run({ ports, options, cells, metrics, watched, stats }, allocators, shutdown).finally(() =>
        ended.abort(new Error("the kubelet has ended")),
      ),
  };
}

async function run(
  composed: Omit<Wiring, "events">,
  allocators: readonly MakePodAllocator[],
  shutdown: AbortSignal,
): Promise<void> {
  const { ports, options, cells } = composed;
  const { clock, files, logOf } = ports;
  const hostTasks = await prepareHost(ports, options);
  const checkpoints = { files, rootDir: options.directories.root, log: logOf("checkpoints") };
  const found = await readCheckpoints({
    ...checkpoints,
    corruptIsFatal: options.compatibility.misconfigurationIsFatal,
  });
  const recorder = ports.api === undefined ? undefined : eventRecorder(composed, ports.api.events);
  const journal = createJournal({
    files,
    directory: `${options.directories.root}/deckhand/journal`,
    clock,
    onProblem: (problem) => logJournalProblem(logOf("journal"), problem),
  });
  const journalEvents = new JournalEventSink(journal, clock);
  const events = teeEventSink(recorder ?? logEventSink(logOf("events"), 2), journalEvents);
  const wiring: Wiring = { ...composed, events };
  const records = await journal.replay();
  journal.note(decisionRecord({ uid: "", pod: "", wallMs: clock.wallMs() }, { kind: "startAgent" }));
  const journaledPods = adoptCheckpoints(foldJournaledPods(records), found.allocated, found.actuated);
  const { runtimeHealth, desiredPods, admittedPods, podOutcomes, sourcesReady } = cells;
  const runtime = runtimeLoops(wiring, shutdown);
  const localNode = localNodeOf(wiring);
  const sources = podSources(wiring, journal, staticPodFacts(records));
  const syncLoop = admissionLoop(wiring, { journal, journaledPods, localNode, allocators });
  const loops: readonly Loop[] = [
    ...runtime.loops,
    ...sources.loops,
    (signal) => runPodConfig({ clock, desiredPods, sources: sources.states, events, log: logOf("pod-config") }, signal),
    (signal) => syncLoop.run(signal),
    (signal) => writeCheckpoints({ ...checkpoints, clock }, { admittedPods, podOutcomes, sourcesReady }, found, signal),
    ...(recorder === undefined ? [] : [(signal: AbortSignal) => recorder.run(signal)]),
    ...clientCertificateLoops(wiring),
    ...nodeLoops(wiring, journal),
    ...hostLoops(wiring, hostTasks),
    ...metricsLoops(wiring),
    ...podLoops(wiring, { journal, journaledPods, runtimeCache: runtime.inspector, journalEvents, localNode }),
    (signal) => noteRuntimeHealth({ runtimeHealth, clock, journalEvents }, signal),
    ...nodeStateLoops(wiring, journal),
  ];
  try {
    await runAll(loops, shutdown);
  } finally {
    await journal.close();
  }
}

/** Loops that observe the runtime's pods and its health. */
function runtimeLoops(
  { ports, cells, metrics, watched }: Wiring,
  shutdown: AbortSignal,
): { readonly inspector: PodInspector; readonly loops: readonly Loop[] } {
  const { clock, random, runtime } = ports;
  const { podRuntimeStatus, listedSandboxes, statusFailures, runtimeHealth } = cells;
  const plegMetrics = metrics.pleg;
  const log = ports.logOf("pleg");
  const inspector = new PodInspector({ runtime, clock, podRuntimeStatus, listedSandboxes, plegMetrics, shutdown });
  const pleg = new Pleg({
    runtime,
    clock,
    random,
    inspector,
    listedSandboxes,
    statusFailures,
    plegMetrics,
    queue: metrics.queue("pod_looks"),
    heartbeat: watched.runtimeList,
    log,
  });
  const lastListedMs = () => pleg.lastListedMs;
  const health = { runtime, clock, runtimeHealth, log, lastListedMs, heartbeat: watched.runtimeHealth };
  return {
    inspector,
    loops: [(signal) => pleg.run(signal), (signal) => watchRuntimeHealth(health, signal)],
  };
}

const eventRecorder = (
  { ports, options, cells }: Pick<Wiring, "ports" | "options" | "cells">,
  api: ApiServer,
): EventRecorder =>
  new EventRecorder(
    { clock: ports.clock, random: ports.random, api, ownNode: cells.ownNode, log: ports.logOf("events") },
    {
      nodeName: options.node.name,
      eventRecordQps: options.api.kind === "cluster" ? options.api.eventsPerSecond : 0,
      eventBurst: options.api.kind === "cluster" ? options.api.eventBurst : 0,
    },
  );

/** Runs until `shutdown` aborts or a loop fails. A failure ends the other loops too. */
async function runAll(loops: readonly Loop[], shutdown: AbortSignal): Promise<void> {
  const all = new AbortController();
  const end = () => all.abort(shutdown.reason);
  shutdown.addEventListener("abort", end, { once: true });
  if (shutdown.aborted) end();
  const outcomes = await Promise.allSettled(
    loops.map(async (loop) => {
      try {
        await loop(all.signal);
      } catch (error) {
        all.abort(error);
        throw error;
      }
    }),
  );
  shutdown.removeEventListener("abort", end);
  if (shutdown.aborted) return;
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}
