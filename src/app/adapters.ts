/** Creates the adapters behind the agent's ports. The API clients follow later, once the agent's identity is known. */
import { readFileSync } from "node:fs";
import type { NodeCgroups } from "../controllers/resources/resources.ts";
import { parseCgroupPath } from "../domain/resources/cgroup-name.ts";
import type { CgroupDriver } from "../domain/runtime/runtime-info.ts";
import type { Log } from "../ports/log.ts";
import { noTracer } from "../ports/tracer.ts";
import { createCgroups } from "../wire/cgroupfs/cgroups.ts";
import { cgroupfsDriver } from "../wire/cgroupfs/driver.ts";
import { parseHierarchies } from "../wire/cgroupfs/hierarchies.ts";
import { hostTree } from "../wire/cgroupfs/tree.ts";
import { connectCri } from "../wire/cri/client.ts";
import { hostClock } from "../wire/host/clock.ts";
import { createHostFiles } from "../wire/host/files.ts";
import { hostKeys } from "../wire/host/keys.ts";
import { hostLogFiles } from "../wire/host/log-files.ts";
import { hostRandom } from "../wire/host/random.ts";
import { createSysctls } from "../wire/host/sysctls.ts";
import { createIptablesChains } from "../wire/iptables/iptables-chains.ts";
import { createKernelMessages } from "../wire/kmsg/kernel-messages.ts";
import { createMounts } from "../wire/mounts/mounts.ts";
import { openTracing } from "../wire/otlp/open-tracing.ts";
import { createProber } from "../wire/probes/prober.ts";
import { createMachine } from "../wire/proc-stats/machine.ts";
import { createOwnProcess } from "../wire/proc-stats/own-process.ts";
import { createHttpFetch } from "../wire/static-pod-url/http-fetch.ts";
import { createStats } from "../wire/stats/stats.ts";
import { connectSystemd } from "../wire/systemd/connect.ts";
import { systemdDriver } from "../wire/systemd/driver.ts";
import { SystemdManager } from "../wire/systemd/manager.ts";
import { helperCommand, VOLUME_HELPER } from "./helper-command.ts";
import type { ProcessLog } from "./logging/log.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import { statsProgram } from "./stats-program.ts";
import type { KubeletPorts } from "./wiring.ts";

export interface Adapters {
  readonly ports: Omit<KubeletPorts, "api">;
  close(): Promise<void>;
}

export function makeAdapters(options: CompiledOptions, processLog: ProcessLog, shutdown: AbortSignal): Adapters {
  const tracing = tracingOf(options, processLog);
  const cri = connectCri(
    {
      endpoint: options.runtime.endpoint,
      imageEndpoint: options.runtime.imageEndpoint,
      requestLimitMs: options.runtime.requestLimitMs,
      streamLists: options.gates.CRIListStreaming,
      ...(tracing === undefined ? {} : { tracer: tracing.tracer }),
      onMalformed: (detail) =>
        processLog.of("cri").info(0, "The runtime said something that cannot be true", { detail }),
    },
    hostClock,
  );
  const mounts = createMounts({ clock: hostClock, helper: helperCommand(VOLUME_HELPER) });
  const systemd = new SystemdManager({
    connect: (signal) => connectSystemd(hostClock, signal),
    clock: hostClock,
    shutdown,
  });
  const stats = createStats({ clock: hostClock, program: statsProgram });
  return {
    ports: {
      clock: hostClock,
      random: hostRandom,
      files: createHostFiles({ clock: hostClock }),
      logFiles: hostLogFiles,
      mounts,
      quotas: mounts.quotas,
      machine: createMachine(),
      stats,
      http: createHttpFetch(hostClock),
      prober: createProber(hostClock),
      runtime: cri.runtime,
      images: cri.images,
      cgroups: (driver) => cgroupsOf(options, driver, { systemd, log: processLog.of("resources") }),
      keys: hostKeys,
      host: {
        sysctls: createSysctls(),
        messages: createKernelMessages({ clock: hostClock }),
        chains: createIptablesChains(),
      },
      process: createOwnProcess(),
      tracer: tracing?.tracer ?? noTracer,
      logOf: (module) => processLog.of(module),
    },
    close: async () => {
      cri.close();
      await Promise.all([mounts.close(), stats.close(), systemd.close()]);
      await tracing?.close();
    },
  };
}

function tracingOf({ tracing, node }: CompiledOptions, processLog: ProcessLog) {
  if (tracing.kind === "off") return undefined;
  const parts = { clock: hostClock, random: hostRandom, log: processLog.of("tracing") };
  return openTracing({ ...tracing, hostName: node.name }, parts);
}

/** Reads the mounts only once the driver is known: before that the machine may still be booting. */
function cgroupsOf(
  options: CompiledOptions,
  driverName: CgroupDriver,
  { systemd, log }: { readonly systemd: SystemdManager; readonly log: Log },
): NodeCgroups {
  const hierarchies = parseHierarchies(readFileSync("/proc/self/mounts", "utf8"));
  const driver = driverName === "systemd" ? systemdDriver(systemd, hierarchies.version, log) : cgroupfsDriver;
  const below = (root: string) =>
    createCgroups({ hierarchies, root: parseCgroupPath(root), driver, tree: hostTree, clock: hostClock });
  return { pods: below(options.cgroups.root), machine: below("/") };
}
