/**
 * Files of variables that a pod's own containers wrote into one of its volumes. What they wrote is not to be trusted: a link on the way is not
 * followed, so that nothing outside the volume is read, and a file that is too large is not read at all.
 */
import type { Container } from "../../api/gen/core-v1.ts";
import type { EnvFile } from "../../domain/pod/environment/container-environment.ts";
import type { PodVolumes } from "../../domain/volumes/volume-state.ts";
import { HostFileError, type HostFiles } from "../../ports/host-files.ts";

const BYTES_MAX = 1024 * 1024;

type Reading = Pick<HostFiles, "facts" | "read">;

/** Of all that the container names, read once. */
export async function readEnvFiles(
  { env = [] }: Pick<Container, "env">,
  volumes: PodVolumes,
  files: Reading,
): Promise<(volume: string, path: string) => EnvFile> {
  const read = new Map<string, EnvFile>();
  for (const { valueFrom } of env) {
    const named = valueFrom?.fileKeyRef;
    if (named === undefined || read.has(keyOf(named.volumeName, named.path))) continue;
    read.set(keyOf(named.volumeName, named.path), await readEnvFile(volumes, named.volumeName, named.path, files));
  }
  return (volume, path) => read.get(keyOf(volume, path)) ?? { kind: "noVolume" };
}

const keyOf = (volume: string, path: string) => `${volume}/${path}`;

async function readEnvFile(volumes: PodVolumes, name: string, path: string, files: Reading): Promise<EnvFile> {
  const state = volumes.get(name);
  if (state?.kind !== "mounted" || state.volume.path === "") return { kind: "noVolume" };
  const steps = path.split("/").filter((step) => step !== "" && step !== ".");
  const hostPath = [state.volume.path, ...steps].join("/");
  if (steps.length === 0 || steps.includes("..")) return { kind: "unreadable" };
  try {
    for (let depth = 1; depth < steps.length; depth += 1) {
      const facts = await files.facts([state.volume.path, ...steps.slice(0, depth)].join("/"));
      if (facts?.kind !== "folder") return { kind: "unreadable" };
    }
    return { kind: "read", hostPath, content: await files.read(hostPath, BYTES_MAX) };
  } catch (error) {
    if (error instanceof HostFileError) return { kind: "unreadable" };
    throw error;
  }
}
