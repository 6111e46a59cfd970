/**
 * Reads environment files that a pod's own containers wrote into one of its volumes. The files are untrusted: symlinks
 * in the path are never followed, even if they appear during the read, so nothing outside the volume is read. Files
 * that are too large are not read.
 */
import type { Container } from "../../api/gen/core-v1.ts";
import type { EnvFile } from "../../domain/container-config/environment/container-environment.ts";
import { ENV_FILE_BYTES_MAX } from "../../domain/limits.ts";
import type { PodVolumes } from "../../domain/volumes/volume-state.ts";
import { MountError, type Mounts } from "../../ports/mounts.ts";

type Reading = Pick<Mounts, "readBeneath">;

/** Reads the files that the container's variables reference, each once. */
export async function readEnvFiles(
  { env = [] }: Pick<Container, "env">,
  volumes: PodVolumes,
  mounts: Reading,
  signal: AbortSignal,
): Promise<(volume: string, path: string) => EnvFile> {
  const read = new Map<string, EnvFile>();
  for (const { valueFrom } of env) {
    const named = valueFrom?.fileKeyRef;
    if (named === undefined || read.has(keyOf(named.volumeName, named.path))) continue;
    const file = await readEnvFile(volumes.get(named.volumeName), named.path, mounts, signal);
    read.set(keyOf(named.volumeName, named.path), file);
  }
  return (volume, path) => read.get(keyOf(volume, path)) ?? { kind: "noVolume" };
}

const keyOf = (volume: string, path: string) => `${volume}/${path}`;

async function readEnvFile(
  state: ReturnType<PodVolumes["get"]>,
  path: string,
  mounts: Reading,
  signal: AbortSignal,
): Promise<EnvFile> {
  if (state?.kind !== "mounted" || state.volume.path === "") return { kind: "noVolume" };
  const steps = path.split("/").filter((step) => step !== "" && step !== ".");
  const hostPath = [state.volume.path, ...steps].join("/");
  try {
    const content = await mounts.readBeneath(state.volume.path, path, ENV_FILE_BYTES_MAX, signal);
    return { kind: "read", hostPath, content };
  } catch (error) {
    if (error instanceof MountError) return { kind: "unreadable" };
    throw error;
  }
}
