/**
 * Starts the node agent on this machine: creates the adapters, takes the locks, calls compose, and runs everything
 * until the process must end.
 */

import { getHeapStatistics } from "node:v8";
import { errorText } from "../base/error-text.ts";
import { reservedCpusFault } from "../domain/resources/reserved-cpus.ts";
import { swapFault } from "../domain/resources/swap.ts";
import { type Watchdog, watchdogOf } from "../domain/service/watchdog.ts";
import type { Log } from "../ports/log.ts";
import { type HealthCheck, logCheck, pingCheck, runHealthz, syncLoopCheck } from "../server/healthz.ts";
import { type LocalSocketParts, localSocketPath, runLocalSocket } from "../server/local-socket.ts";
import { statsRoutes } from "../server/stats/stats-routes.ts";
import { hostClock } from "../wire/host/clock.ts";
import { setOwnOomScore } from "../wire/host/oom-score.ts";
import { lockWanted, type ProcessLock, takeHandoverLock, takeProcessLock } from "../wire/host/process-lock.ts";
import { hostRandom } from "../wire/host/random.ts";
import { serviceManagerOf } from "../wire/host/service-manager.ts";
import { makeAdapters } from "./adapters.ts";
import { type ApiClients, connectApi, type ReviewClients } from "./api-clients.ts";
import type { StartKubelet } from "./commands/io.ts";
import { compose, type Kubelet } from "./compose.ts";
import { whatIfRoute } from "./compose-eviction.ts";
import { certificateFamilies } from "./compose-identity.ts";
import { imageGcRoute } from "./compose-images.ts";
import { composeMetricsServer } from "./compose-metrics-server.ts";
import { serverLoops } from "./compose-server.ts";
import { loopsCheck, runService } from "./compose-service.ts";
import { checkpointDirectory, streaming } from "./compose-streams.ts";
import { Lifetime } from "./lifetime.ts";
import type { ProcessLog } from "./logging/log.ts";
import { SYNC_LOOP } from "./loop-watchdog.ts";
import { watchMemory } from "./memory-limit.ts";
import { capacityFault } from "./node-options.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import { accessFault } from "./options/server-settings.ts";
import { processProfiles } from "./profiles.ts";
import { reportSetupFailure } from "./report-setup-failure.ts";
import { requiredFilesFault } from "./required-files.ts";
import type { KubeletPorts, Loop } from "./wiring.ts";

const DIRECTORY_MODE = 0o750;
/** Of the journal, the lock and the local socket. */
const OWN_DIRECTORY_MODE = 0o700;

export const runKubelet: StartKubelet = async (options, processLog) => {
  const startedWallMs = hostClock.wallMs();
  const log = processLog.of("kubelet");
  const lifetime = new Lifetime(log);
  guardAgainstOom(options.cgroups.oomScoreAdj, log);
  const adapters = makeAdapters(options, processLog, lifetime.signal);
  let clients: ApiClients | undefined;
  try {
    const watchdog = watchdogOf(process.env, process.pid);
    if (watchdog.kind === "wrong") throw new Error(`failed to run Kubelet: ${watchdog.fault}`);
    await takeHandover(options, log, lifetime);
    const machine = await adapters.ports.machine.facts();
    const { onlineCpus, swapBytes } = machine;
    const fault =
      accessFault(options.server, options.api.kind === "cluster") ??
      reservedCpusFault(options.reserved, onlineCpus) ??
      swapFault(swapBytes, options.cgroups) ??
      capacityFault(machine, options) ??
      (await requiredFilesFault(options, adapters.ports.files));
    if (fault !== undefined) throw new Error(`failed to run Kubelet: ${fault}`);
    clients = await connectApi(options, adapters.ports, processLog.of("identity"), lifetime.signal);
    const ports: KubeletPorts = { ...adapters.ports, api: clients?.ports };
    await setUp(options, ports, lifetime.signal);
    lifetime.keep(await takeProcessLock(`${options.directories.root}/deckhand/lock`, hostClock, lifetime.signal));
    await runAgent({ ports, options, processLog, watchdog, reviews: clients?.reviews, startedWallMs }, lifetime);
    return lifetime.exitCode;
  } catch (error) {
    log.error("command failed", error);
    lifetime.end(error);
    return 1;
  } finally {
    await lifetime.release("connections and helper processes", () => Promise.all([adapters.close(), clients?.close()]));
  }
};

interface AgentParts {
  readonly ports: KubeletPorts;
  readonly options: CompiledOptions;
  readonly processLog: ProcessLog;
  readonly watchdog: Watchdog;
  readonly reviews: ReviewClients | undefined;
  readonly startedWallMs: number;
}

/** Runs every loop of the agent, and its servers, until the process must end. */
async function runAgent(parts: AgentParts, lifetime: Lifetime): Promise<void> {
  const { options, processLog, watchdog } = parts;
  const { signal } = lifetime;
  const kubelet = compose(parts.ports, options);
  const healthChecks = [
    pingCheck,
    logCheck(() => processLog.flush()),
    syncLoopCheck(hostClock, options.pods.syncEveryMs, () => kubelet.heartbeats.lastMs(SYNC_LOOP)),
  ];
  const { checks, loops } = serversOf(parts, kubelet, healthChecks, signal);
  const { promise: ready, resolve: onTried } = Promise.withResolvers<void>();
  const service = {
    manager: serviceManagerOf(process.env),
    watchdog,
    clock: hostClock,
    random: hostRandom,
    log: processLog.of("service"),
  };
  const memory = { clock: hostClock, log: processLog.of("kubelet"), usedBytes: memoryInUse };
  await Promise.all([
    kubelet.run(signal),
    ...loops.map((loop) => loop(signal)),
    runHealthz(options.healthz, { clock: hostClock, log: processLog.of("healthz"), checks, onTried }, signal),
    runLocalSocket(localSocketPath(options.directories.root), localSocketParts(parts, kubelet), signal),
    runService(service, [...healthChecks, loopsCheck(kubelet.heartbeats)], ready, signal),
    watchMemory(memory, (error) => lifetime.fail(error), signal),
  ]);
}

/** The servers of the node's API, and the health checks with their results counted. */
function serversOf(
  { options, processLog, reviews, startedWallMs }: AgentParts,
  kubelet: Kubelet,
  healthChecks: readonly HealthCheck[],
  signal: AbortSignal,
): { readonly checks: readonly HealthCheck[]; readonly loops: readonly Loop[] } {
  const { ports, cells, metrics, stats } = kubelet;
  const metricsServer = composeMetricsServer(ports, metrics, [
    () => stats.volumeFamilies(signal),
    () => stats.logFamilies(signal),
    async () => certificateFamilies({ ports, options, cells }),
  ]);
  const checks = healthChecks.map(metricsServer.countedCheck);
  const streams = streaming(ports, options, cells, metrics.streams);
  const loops = serverLoops({
    ports,
    options,
    cells,
    reviews,
    checks,
    otherRoutes: [...streams, ...metricsServer.routes, ...statsRoutes(stats)],
    observer: metricsServer.observer,
    process: {
      startedWallMs,
      platform: `node${process.versions.node}`,
      profiles: processProfiles(hostClock),
      setVerbosity: (verbosity) => processLog.setVerbosity(verbosity),
    },
  });
  return { checks, loops };
}

/** What commands of the operator can query. */
const localSocketParts = ({ ports, options, processLog }: AgentParts, { cells, stats }: Kubelet): LocalSocketParts => ({
  clock: hostClock,
  log: processLog.of("server"),
  files: ports.files,
  routes: [imageGcRoute({ ports, options, cells }), whatIfRoute({ options, cells, stats })],
});

function memoryInUse(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/**
 * Runs before the agent changes anything: until it holds the lock another agent may be running. With `endsWhenWanted`
 * this agent ends as soon as another process waits for the lock.
 */
async function takeHandover({ handoverLock }: CompiledOptions, log: Log, lifetime: Lifetime): Promise<void> {
  if (handoverLock === undefined) return;
  const { path, endsWhenWanted } = handoverLock;
  log.info(0, "Acquiring file lock", { path });
  let lock: ProcessLock;
  try {
    lock = await takeHandoverLock(path, lifetime.signal);
  } catch (error) {
    throw new Error(`failed to run Kubelet: unable to acquire file lock on "${path}": ${errorText(error)}`, {
      cause: error,
    });
  }
  lifetime.keep(lock);
  if (!endsWhenWanted) return;
  log.info(0, "Watching the lock file for another agent", { path });
  lockWanted(path, lock, hostClock, lifetime.signal).then(
    (why) => {
      log.info(0, "Another agent takes over; pods keep running", { path, why });
      lifetime.end(new Error(`the lock ${path} is ${why}`));
    },
    (error: unknown) => {
      if (!lifetime.signal.aborted)
        log.error("Failed to check whether another agent requests the lock", error, { path });
    },
  );
}

/**
 * Short of memory, the kernel should kill processes of pods before the agent, which can terminate pods in an orderly
 * way. Without permission to set the score, the agent runs all the same.
 */
function guardAgainstOom(score: number, log: Log): void {
  try {
    setOwnOomScore(score);
  } catch (error) {
    log.info(0, "Failed to ApplyOOMScoreAdj", { err: errorText(error) });
  }
}

async function setUp(options: CompiledOptions, ports: KubeletPorts, signal: AbortSignal): Promise<void> {
  try {
    await makeDirectories(options, ports, signal);
  } catch (error) {
    await reportSetupFailure(ports, options.node.name, error);
    throw error;
  }
}

/** Creates the directories that the kubelet owns, before anything else. */
async function makeDirectories(
  { directories, gates }: CompiledOptions,
  { files, mounts }: KubeletPorts,
  signal: AbortSignal,
): Promise<void> {
  const owned = ["pods", "plugins"].map((name) => `${directories.root}/${name}`);
  await files.makeDirectory(directories.root, DIRECTORY_MODE);
  await mounts.share(directories.root, signal).catch((error: unknown) => {
    throw new Error(`error configuring root directory: ${errorText(error)}`, { cause: error });
  });
  for (const directory of [...owned, directories.podLogs]) {
    await files.makeDirectory(directory, DIRECTORY_MODE);
  }
  // An earlier version created it with another mode.
  const own = `${directories.root}/deckhand`;
  await files.makeDirectory(own, OWN_DIRECTORY_MODE);
  await files.setMode(own, OWN_DIRECTORY_MODE);
  await files.makeDirectory("/var/log/containers", 0o755);
  if (gates.ContainerCheckpoint) await files.makeDirectory(checkpointDirectory({ directories }), 0o700);
}
