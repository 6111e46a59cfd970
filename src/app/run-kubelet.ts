/** Starts the node agent on this machine: makes the adapters, calls compose, heeds signals. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { errorText } from "../base/error-text.ts";
import type { NodeCgroups } from "../controllers/resources/resources.ts";
import { parseCgroupPath } from "../domain/resources/cgroup-name.ts";
import type { Log } from "../ports/log.ts";
import { logCheck, pingCheck, runHealthz, syncLoopCheck } from "../server/healthz.ts";
import { createCgroups } from "../wire/cgroupfs/cgroups.ts";
import { parseHierarchies } from "../wire/cgroupfs/hierarchies.ts";
import { hostTree } from "../wire/cgroupfs/tree.ts";
import { connectCri } from "../wire/cri/client.ts";
import { hostClock } from "../wire/host/clock.ts";
import { createHostFiles } from "../wire/host/files.ts";
import { setOwnOomScore } from "../wire/host/oom-score.ts";
import { type ProcessLock, takeProcessLock } from "../wire/host/process-lock.ts";
import { hostRandom } from "../wire/host/random.ts";
import { createKubeApi, type KubeApi } from "../wire/kube-api/client.ts";
import { createMounts } from "../wire/mounts/mounts.ts";
import { createMachine } from "../wire/proc-stats/machine.ts";
import { createHttpFetch } from "../wire/static-pod-url/http-fetch.ts";
import type { StartKubelet } from "./commands/io.ts";
import { compose, type KubeletPorts } from "./compose.ts";
import type { ProcessLog } from "./logging/log.ts";
import type { ApiSettings, CompiledOptions } from "./options/compiled-options.ts";
import { readKubeconfig } from "./options/kubeconfig.ts";
import { tellSetupFailure } from "./setup-failure.ts";
import { USER_AGENT } from "./version.ts";
import { volumeHelperCommand } from "./volume-helper-command.ts";

const FOLDER_MODE = 0o750;

export const runKubelet: StartKubelet = async (options, processLog) => {
  const log = processLog.of("kubelet");
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => {
    log.info(0, "Shutting down; pods stay as they are", { signal });
    stop.abort(new Error(`ended by ${signal}`));
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, onSignal);
  if (process.getuid?.() !== 0)
    log.info(0, "Kubelet running with insufficient permissions", { uid: process.getuid?.() });
  guardAgainstOom(options.cgroups.oomScoreAdj, log);
  const adapters = makeAdapters(options, processLog);
  let lock: ProcessLock | undefined;
  try {
    await setUp(options, adapters.ports, stop.signal);
    lock = await takeProcessLock(`${options.folders.root}/deckhand/lock`, hostClock, stop.signal);
    const kubelet = compose(adapters.ports, options);
    const checks = [
      pingCheck,
      logCheck(() => processLog.flush()),
      syncLoopCheck(hostClock, options.pods.syncEveryMs, kubelet.lastTurnsMs),
    ];
    await Promise.all([
      kubelet.run(stop.signal),
      runHealthz(options.healthz, { clock: hostClock, log: processLog.of("healthz"), checks }, stop.signal),
    ]);
    return 0;
  } catch (error) {
    log.error("command failed", error);
    stop.abort(error);
    return 1;
  } finally {
    lock?.release();
    await adapters.close();
  }
};

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
  { folders }: CompiledOptions,
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
}

interface Adapters {
  readonly ports: KubeletPorts;
  close(): Promise<void>;
}

function makeAdapters(options: CompiledOptions, processLog: ProcessLog): Adapters {
  const cri = connectCri(
    {
      endpoint: options.runtime.endpoint,
      imageEndpoint: options.runtime.imageEndpoint,
      requestLimitMs: options.runtime.requestLimitMs,
      streamLists: options.gates.CRIListStreaming,
      onMalformed: (detail) =>
        processLog.of("cri").info(0, "The runtime said something that cannot be true", { detail }),
    },
    hostClock,
  );
  const mounts = createMounts({ clock: hostClock, helper: volumeHelperCommand() });
  const clients = options.api.kind === "cluster" ? apiClients(options.api) : undefined;
  const ports: KubeletPorts = {
    clock: hostClock,
    random: hostRandom,
    files: createHostFiles({ clock: hostClock }),
    mounts,
    machine: createMachine(),
    http: createHttpFetch(hostClock),
    runtime: cri.runtime,
    images: cri.images,
    cgroups: () => cgroupsOf(options),
    api: clients,
    logOf: (module) => processLog.of(module),
  };
  const close = async () => {
    cri.close();
    await mounts.close();
    if (clients !== undefined) await Promise.all(Object.values(clients).map((client) => client.close()));
  };
  return { ports, close };
}

function apiClients(settings: Extract<ApiSettings, { kind: "cluster" }>) {
  const connection = readKubeconfig(resolve(settings.kubeconfigPath));
  const common = { connection, clock: hostClock, random: hostRandom, userAgent: USER_AGENT };
  const main: KubeApi = createKubeApi({
    ...common,
    requestsPerSecond: settings.requestsPerSecond,
    burst: settings.burst,
  });
  const events: KubeApi = createKubeApi({ ...common, requestsPerSecond: 1_000, burst: 1_000 });
  const heartbeats: KubeApi = createKubeApi({
    ...common,
    requestLimitMs: settings.heartbeatLimitMs,
    requestsPerSecond: 1_000,
    burst: 1_000,
  });
  return { main, events, heartbeats };
}

/** The mounts are read when the driver is known, not before: a machine may still be coming up. */
function cgroupsOf(options: CompiledOptions): NodeCgroups {
  const hierarchies = parseHierarchies(readFileSync("/proc/self/mounts", "utf8"));
  const below = (root: string) =>
    createCgroups({ hierarchies, root: parseCgroupPath(root), tree: hostTree, clock: hostClock });
  return { pods: below(options.cgroups.root), machine: below("/") };
}
