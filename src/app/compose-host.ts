/** Host tasks of the agent: kernel settings, kernel messages, and the iptables chains that other programs expect. */
import { errorText } from "../base/error-text.ts";
import { runIptablesChains } from "../controllers/host/iptables-chains.ts";
import { runOomWatcher } from "../controllers/host/oom-watcher.ts";
import { applySysctls } from "../controllers/host/sysctls.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import type { KubeletPorts, Loop, Wiring } from "./wiring.ts";

/** Tasks that remain once the agent runs. */
export interface HostTasks {
  readonly watchesOom: boolean;
}

/** Runs before anything else starts. Rejects if the agent must not run on this host as it is. */
export async function prepareHost(
  { host, logOf }: Pick<KubeletPorts, "host" | "logOf">,
  { configuration, gates }: CompiledOptions,
): Promise<HostTasks> {
  const log = logOf("host");
  const inUserNamespace = gates.KubeletInUserNamespace;
  const unreadable = await host.messages.requireReadable().then(
    () => undefined,
    (error: unknown) => errorText(error),
  );
  if (unreadable !== undefined && !inUserNamespace) throw new Error(`failed to create kubelet: ${unreadable}`);
  if (unreadable !== undefined)
    log.info(2, "Failed to create an oomWatcher (running in UserNS, ignoring)", { err: unreadable });
  const protect = configuration.protectKernelDefaults;
  await applySysctls({ sysctls: host.sysctls, log, protect, inUserNamespace });
  return { watchesOom: unreadable === undefined };
}

export function hostLoops({ ports, options, events }: Wiring, { watchesOom }: HostTasks): readonly Loop[] {
  const { clock, files, machine, host, logOf } = ports;
  const log = logOf("host");
  const watcher = { clock, files, machine, events, log, messages: host.messages, nodeName: options.node.name };
  const reportedFile = `${options.directories.root}/deckhand/system-oom.json`;
  return [
    ...(watchesOom ? [(shutdown: AbortSignal) => runOomWatcher({ ...watcher, reportedFile }, shutdown)] : []),
    ...(options.configuration.makeIPTablesUtilChains
      ? [(shutdown: AbortSignal) => runIptablesChains({ clock, log, chains: host.chains }, shutdown)]
      : []),
  ];
}
