/**
 * Notifies systemd through its own `systemd-notify`, because Node has no AF_UNIX datagram sockets. systemd accepts a
 * notification only from the service's main process (`NotifyAccess=main`, the default of Type=notify). The tool sends
 * its parent's process ID with the message, which root may do. So the message counts as ours whatever unit we run in,
 * and it is not lost if the tool exits before systemd reads it. The tool does not wait until the message is read
 * (`--no-block`, systemd 246). One process every 15 to 30 s is cheap.
 */
import { execFile } from "node:child_process";
import type { ServiceManager, ServiceState } from "../../ports/service-manager.ts";

const MESSAGES: Readonly<Record<ServiceState, string>> = {
  ready: "READY=1",
  alive: "WATCHDOG=1",
  stopping: "STOPPING=1",
};

/** Undefined if no service manager expects notifications. */
export function serviceManagerOf(
  environment: Readonly<Record<string, string | undefined>>,
): ServiceManager | undefined {
  const { NOTIFY_SOCKET: socket = "" } = environment;
  if (socket === "") return undefined;
  return {
    notify: (state, signal) =>
      new Promise((resolve, reject) => {
        const options = { env: { ...environment }, signal, killSignal: "SIGKILL" } as const;
        execFile("systemd-notify", ["--no-block", MESSAGES[state]], options, (error, _, said) => {
          if (error === null) return resolve();
          reject(said === "" ? error : new Error(said.trim(), { cause: error }));
        });
      }),
  };
}
