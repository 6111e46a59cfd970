/** Starts the node agent on this machine: makes the adapters, calls compose, heeds signals. */

import { getHeapStatistics } from "node:v8";
import { errorText } from "../base/error-text.ts";
import { reservedCpusFault } from "../domain/resources/reserved-cpus.ts";
import { swapFault } from "../domain/resources/swap.ts";
import { watchdogOf } from "../domain/service/watchdog.ts";
import type { Log } from "../ports/log.ts";
import { logCheck, pingCheck, runHealthz, syncLoopCheck } from "../server/healthz.ts";
import { hostClock } from "../wire/host/clock.ts";
import { setOwnOomScore } from "../wire/host/oom-score.ts";
import { lockWanted, type ProcessLock, takeHandoverLock, takeProcessLock } from "../wire/host/process-lock.ts";
import { hostRandom } from "../wire/host/random.ts";
import { serviceManagerOf } from "../wire/host/service-manager.ts";
import { makeAdapters } from "./adapters.ts";
import { type ApiClients, connectApi } from "./api-clients.ts";
import type { StartKubelet } from "./commands/io.ts";
import { compose } from "./compose.ts";
import { composeFigures } from "./compose-figures.ts";
import { certificateFamilies } from "./compose-identity.ts";
import { serverLoops } from "./compose-server.ts";
import { loopsSign, runService } from "./compose-service.ts";
import { statsOf } from "./compose-stats.ts";
import { checkpointFolder, streaming } from "./compose-streams.ts";
import { watchMemory } from "./memory-limit.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import { accessFault } from "./options/server-settings.ts";
import { processProfiles } from "./profiles.ts";
import { tellSetupFailure } from "./setup-failure.ts";
import { SYNC_LOOP } from "./watched-loops.ts";
import type { KubeletPorts } from "./wiring.ts";

const FOLDER_MODE = 0o750;

export const runKubelet: StartKubelet = async (options, processLog) => {
  const startedWallMs = hostClock.wallMs();
  const log = processLog.of("kubelet");
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => {
    log.info(0, "Shutting down; pods stay as they are", { signal });
    stop.abort(new Error(`ended by ${signal}`));
  };
  const ending = new Ending(stop.signal, log);
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, onSignal);
  guardAgainstOom(options.cgroups.oomScoreAdj, log);
  const adapters = makeAdapters(options, processLog, stop.signal);
  let clients: ApiClients | undefined;
  const locks: ProcessLock[] = [];
  let hasFailed = false;
  const keep = (lock: ProcessLock) => {
    locks.push(lock);
    void lock.lost.then((error) => {
      if (stop.signal.aborted) return;
      hasFailed = true;
      log.error("Shutting down, since another agent may take this node; pods stay as they are", error);
      stop.abort(error);
    });
  };
  try {
    const watchdog = watchdogOf(process.env, process.pid);
    if (watchdog.kind === "wrong") throw new Error(`failed to run Kubelet: ${watchdog.fault}`);
    await takeHandover(options, log, stop, keep);
    const { onlineCpus, swapBytes } = await adapters.ports.machine.facts();
    const fault =
      accessFault(options.server, options.api.kind === "cluster") ??
      reservedCpusFault(options.reserved, onlineCpus) ??
      swapFault(swapBytes, options.cgroups);
    if (fault !== undefined) throw new Error(`failed to run Kubelet: ${fault}`);
    clients = await connectApi(options, adapters.ports, processLog.of("identity"), stop.signal);
    const given: KubeletPorts = { ...adapters.ports, api: clients?.ports };
    await setUp(options, given, stop.signal);
    keep(await takeProcessLock(`${options.folders.root}/deckhand/lock`, hostClock, stop.signal));
    const kubelet = compose(given, options);
    const { ports } = kubelet;
    // What statistics take of the runtime is not counted, as in the Go kubelet.
    const stats = statsOf({ ports: given, options, cells: kubelet.cells }, stop.signal);
    const figures = composeFigures(ports, kubelet.metrics, [
      () => stats.volumeFamilies(stop.signal),
      () => stats.logFamilies(stop.signal),
      async () => certificateFamilies({ ports, options, cells: kubelet.cells }),
    ]);
    const healthChecks = [
      pingCheck,
      logCheck(() => processLog.flush()),
      syncLoopCheck(hostClock, options.pods.syncEveryMs, () => kubelet.turns.lastMs(SYNC_LOOP)),
    ];
    const checks = healthChecks.map(figures.countedCheck);
    const streams = streaming(ports, options, kubelet.cells, kubelet.metrics.streams);
    const server = serverLoops({
      ports,
      options,
      cells: kubelet.cells,
      reviews: clients?.reviews,
      checks,
      otherRoutes: [...streams, ...figures.routes, ...stats.routes],
      observer: figures.observer,
      process: {
        startedWallMs,
        platform: `node${process.versions.node}`,
        profiles: processProfiles(hostClock),
        setVerbosity: (verbosity) => processLog.setVerbosity(verbosity),
      },
    });
    const { promise: ready, resolve: onTried } = Promise.withResolvers<void>();
    const service = {
      manager: serviceManagerOf(process.env),
      watchdog,
      clock: hostClock,
      random: hostRandom,
      log: processLog.of("service"),
    };
    const endForMemory = (error: Error) => {
      hasFailed = true;
      stop.abort(error);
    };
    const signs = [...healthChecks, loopsSign(kubelet.turns)];
    await Promise.all([
      kubelet.run(stop.signal),
      ...server.map((loop) => loop(stop.signal)),
      runHealthz(options.healthz, { clock: hostClock, log: processLog.of("healthz"), checks, onTried }, stop.signal),
      runService(service, signs, ready, stop.signal),
      watchMemory({ clock: hostClock, log, usedBytes: memoryInUse }, endForMemory, stop.signal),
    ]);
    return hasFailed ? 1 : 0;
  } catch (error) {
    log.error("command failed", error);
    stop.abort(error);
    return 1;
  } finally {
    for (const lock of locks) lock.release();
    ending.waitsFor("connections and helper processes");
    await Promise.all([adapters.close(), clients?.close()]);
    ending.done();
  }
};

function memoryInUse(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/** How long the agent may take to end before it logs what it waits for. */
const SLOW_END_MS = 2_000;

/** Logs why the agent takes long to end. */
class Ending {
  readonly #log: Log;
  #step = "loops";
  #cancel = () => {};

  constructor(stop: AbortSignal, log: Log) {
    this.#log = log;
    stop.addEventListener("abort", () => {
      this.#cancel = hostClock.after(SLOW_END_MS, () => this.#tell());
    });
  }

  waitsFor(step: string): void {
    this.#step = step;
  }

  done(): void {
    this.#cancel();
  }

  #tell(): void {
    const counts = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), (kind) => kind));
    const resources = Object.fromEntries(counts.map(([kind, all]) => [kind, all?.length ?? 0]));
    this.#log.info(0, "Still shutting down", { waitsFor: this.#step, resources });
  }
}

/** Before anything else: until then another agent may be at work. Where it is to, this one ends as soon as another waits for the lock. */
async function takeHandover(
  { handoverLock }: CompiledOptions,
  log: Log,
  stop: AbortController,
  keep: (lock: ProcessLock) => void,
): Promise<void> {
  if (handoverLock === undefined) return;
  const { path, endsWhenWanted } = handoverLock;
  log.info(0, "Acquiring file lock", { path });
  let lock: ProcessLock;
  try {
    lock = await takeHandoverLock(path, stop.signal);
  } catch (error) {
    throw new Error(`failed to run Kubelet: unable to acquire file lock on "${path}": ${errorText(error)}`, {
      cause: error,
    });
  }
  keep(lock);
  if (!endsWhenWanted) return;
  log.info(0, "Watching for others that want the lock", { path });
  lockWanted(path, lock, hostClock, stop.signal).then(
    (why) => {
      log.info(0, "Another agent is to take over; pods stay as they are", { path, why });
      stop.abort(new Error(`the lock ${path} is ${why}`));
    },
    (error: unknown) => {
      if (!stop.signal.aborted) log.error("Cannot look whether the lock is wanted", error, { path });
    },
  );
}

/** A kernel short of memory takes pods before the agent that could end them in order. Without the right to ask for it, it runs all the same. */
function guardAgainstOom(score: number, log: Log): void {
  try {
    setOwnOomScore(score);
  } catch (error) {
    log.info(0, "Failed to ApplyOOMScoreAdj", { err: errorText(error) });
  }
}

async function setUp(options: CompiledOptions, ports: KubeletPorts, signal: AbortSignal): Promise<void> {
  try {
    await makeFolders(options, ports, signal);
  } catch (error) {
    await tellSetupFailure(ports, options.node.name, error);
    throw error;
  }
}

/** What the kubelet owns on disk, there before anything else. */
async function makeFolders(
  { folders, gates }: CompiledOptions,
  { files, mounts }: KubeletPorts,
  signal: AbortSignal,
): Promise<void> {
  const owned = ["pods", "plugins", "deckhand"].map((name) => `${folders.root}/${name}`);
  await files.makeFolder(folders.root, FOLDER_MODE);
  await mounts.share(folders.root, signal).catch((error: unknown) => {
    throw new Error(`error configuring root directory: ${errorText(error)}`, { cause: error });
  });
  for (const folder of [...owned, folders.podLogs]) {
    await files.makeFolder(folder, FOLDER_MODE);
  }
  await files.makeFolder("/var/log/containers", 0o755);
  if (gates.ContainerCheckpoint) await files.makeFolder(checkpointFolder({ folders }), 0o700);
}
