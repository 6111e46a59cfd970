/**
 * Prepares a container's volume mounts and binds its subPaths before the container is created. Each bind mount is
 * journaled first.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { expandFully } from "../../domain/container-config/environment/expand.ts";
import { mountsRecursivelyReadOnly } from "../../domain/node/runtime-health.ts";
import { podDirectory, podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { ContainerMount } from "../../domain/runtime/container.ts";
import { containerMounts, type MountContext, type SubPath } from "../../domain/volumes/container-mounts.ts";
import { MountError, type MountErrorCode } from "../../ports/mounts.ts";
import { noteMounting } from "../volumes/note-mounting.ts";
import type { ContainerContributor } from "./container-creation.ts";
import { StartFailure } from "./start-failure.ts";
import type { PodWorkerPorts } from "./worker-options.ts";

export const volumeMounts: ContainerContributor = async (creation, gathered, { ports, cells, settings }, signal) => {
  const { pod, containerSpec, sandbox, volumeImages } = creation;
  const mounts = await prepareMounts(
    {
      pod,
      container: containerSpec.container,
      rootDir: settings.rootDir,
      volumes: cells.mountState.get(podNameOfObject(pod).uid) ?? new Map(),
      recursiveReadOnly: mountsRecursivelyReadOnly(cells.runtimeHealth.value, sandbox.runtimeHandler),
      volumeImages,
      expand: (text) => expandFully(text, gathered.environment),
    },
    ports,
    signal,
  );
  return { mounts };
};

interface MountWork extends Pick<MountContext, "volumes" | "volumeImages" | "recursiveReadOnly" | "expand"> {
  readonly pod: Pod;
  readonly container: Container;
  readonly rootDir: string;
}

/** Rejects with a `StartFailure` or with the signal's reason. */
async function prepareMounts(
  work: MountWork,
  ports: Pick<PodWorkerPorts, "mounts" | "journal" | "clock" | "log">,
  signal: AbortSignal,
): Promise<readonly ContainerMount[]> {
  const { pod, container, rootDir } = work;
  const { uid } = podNameOfObject(pod);
  const plan = containerMounts(container, { ...work, podDirectory: podDirectory(rootDir, uid) });
  if (plan.kind === "refused") throw new StartFailure("CreateContainerConfigError", plan.message);
  for (const subPath of plan.subPaths) await bind(subPath, work, ports, signal);
  return plan.mounts;
}

/** Errors that mean the subPath directory could not be created. */
const CANNOT_MAKE: ReadonlySet<MountErrorCode> = new Set(["readOnly", "noSpace"]);

async function bind(
  { volume, volumePath, subPath, target }: SubPath,
  { pod, container }: MountWork,
  { mounts, journal, clock, log }: Pick<PodWorkerPorts, "mounts" | "journal" | "clock" | "log">,
  signal: AbortSignal,
): Promise<void> {
  const { uid } = podNameOfObject(pod);
  const isBound = (await mounts.table()).some(({ path }) => path === target);
  if (!isBound) await noteMounting(pod, { volume, path: target }, { journal, clock });
  try {
    await mounts.bindSubPath({ volume: volumePath, subPath, target }, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof MountError)) throw error;
    // The detailed error reveals files of the node: only the operator may see it.
    log.error("Failed to bind a subPath", error, { uid, container: container.name, volume });
    const failed = CANNOT_MAKE.has(error.code) ? "create subPath directory" : "prepare subPath";
    const message = `failed to ${failed} for volumeMount "${volume}" of container "${container.name}"`;
    throw new StartFailure("CreateContainerConfigError", message);
  }
}
