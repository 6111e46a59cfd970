/**
 * systemd, told by its own `systemd-notify`. Node has no datagram sockets of the AF_UNIX kind, and a message must come from the main process of the
 * service, or systemd takes it from nobody (`NotifyAccess=main`, what Type=notify means unless a unit says otherwise). That tool puts its parent's process id on
 * what it sends, which root may: so the message counts as ours, whatever unit we run in, and it is not lost when the tool has ended before it is
 * read. It does not wait until it has been read (`--no-block`, systemd 246). A process each time: one every 15 to 30 s is nothing.
 */
import { execFile } from "node:child_process";
import type { ServiceManager, ServiceNews } from "../../ports/service-manager.ts";

const MESSAGES: Readonly<Record<ServiceNews, string>> = {
  ready: "READY=1",
  alive: "WATCHDOG=1",
  stopping: "STOPPING=1",
};

/** Undefined where nobody wants to hear anything. */
export function serviceManagerOf(
  environment: Readonly<Record<string, string | undefined>>,
): ServiceManager | undefined {
  const { NOTIFY_SOCKET: socket = "" } = environment;
  if (socket === "") return undefined;
  return {
    tell: (news, signal) =>
      new Promise((resolve, reject) => {
        const options = { env: { ...environment }, signal, killSignal: "SIGKILL" } as const;
        execFile("systemd-notify", ["--no-block", MESSAGES[news]], options, (error, _, said) => {
          if (error === null) return resolve();
          reject(said === "" ? error : new Error(said.trim(), { cause: error }));
        });
      }),
  };
}
