import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { podHostname } from "../../domain/container-config/hostname.ts";
import {
  HOSTS_PATH,
  hostsFileOf,
  needsHostsFile,
  nodeHostsFile,
  podHostsFile,
} from "../../domain/container-config/hosts-file.ts";
import { podDirectory, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { readLinked } from "../../ports/follow-links.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import { NODE_HOSTS_FILE_BYTES_MAX } from "../limits.ts";
import type { PodWorkerSettings } from "./worker-options.ts";

const MODE = 0o644;

/**
 * Updates the pod's hosts file in place, because running containers have it mounted. Undefined: this container gets no
 * hosts file.
 */
export async function writeHostsFile(
  pod: Pod,
  container: Container,
  podIps: readonly string[],
  files: HostFiles,
  settings: PodWorkerSettings,
): Promise<string | undefined> {
  if (!needsHostsFile(pod, container, podIps)) return undefined;
  const path = hostsFileOf(podDirectory(settings.rootDir, podNameOfObject(pod).uid));
  await files.overwrite(path, await contentFor(pod, podIps, files, settings), MODE);
  return path;
}

async function contentFor(
  pod: Pod,
  podIps: readonly string[],
  files: HostFiles,
  settings: PodWorkerSettings,
): Promise<Uint8Array> {
  if (pod.spec?.hostNetwork === true) {
    return nodeHostsFile(pod, await readLinked(files, HOSTS_PATH, NODE_HOSTS_FILE_BYTES_MAX));
  }
  const name = podHostname(pod, settings.hostname);
  if (name.kind === "refused") throw new Error(name.message);
  return podHostsFile(pod, { podIps, hostname: name.short, domain: name.domain });
}
