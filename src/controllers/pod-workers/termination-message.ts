/** Reads the termination message of an exited container. */
import { TERMINATION_MESSAGE_PATH, TERMINATION_MESSAGE_POLICY } from "../../domain/container-config/cri-keys.ts";
import {
  fallsBackToLog,
  LOG_TAIL_BYTES,
  MESSAGE_BYTES_MAX,
  messageFromLog,
} from "../../domain/container-config/termination-message.ts";
import type { PodContainer } from "../../domain/pod/runtime-view.ts";
import { type HostFiles, isMissing } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";

/** Empty if there is none or if it cannot be read: the status is published either way. */
export async function terminationMessage(container: PodContainer, files: HostFiles, log: Log): Promise<string> {
  const path = container.annotations[TERMINATION_MESSAGE_PATH] ?? "";
  const mount = path === "" ? undefined : container.mounts.find(({ containerPath }) => containerPath === path);
  const decoder = new TextDecoder();
  try {
    const written = mount === undefined ? "" : decoder.decode(await files.readTail(mount.hostPath, MESSAGE_BYTES_MAX));
    const policy = container.annotations[TERMINATION_MESSAGE_POLICY] ?? "";
    if (!fallsBackToLog(policy, container.exitCode, written)) return written;
    const tail = await files.readTail(container.logPath, LOG_TAIL_BYTES);
    return messageFromLog(decoder.decode(tail), tail.length < LOG_TAIL_BYTES);
  } catch (error) {
    if (!isMissing(error))
      log.error("Failed to read a container's termination message", error, { containerID: container.id });
    return "";
  }
}
