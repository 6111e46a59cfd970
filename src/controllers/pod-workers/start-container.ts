/**
 * Starts one container: its image, its folders, create, start. Where a reply was lost the next look at the runtime finds what became
 * of it; nothing here tries twice.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import { commandOf, containerConfig } from "../../domain/container-config/container-config.ts";
import { expandFully } from "../../domain/container-config/environment/expand.ts";
import { whyNotNonRoot } from "../../domain/container-config/run-as-non-root.ts";
import type { ImageUser } from "../../domain/container-config/security-context.ts";
import { unusableProfile } from "../../domain/container-config/security-profiles.ts";
import { NODE_USERS } from "../../domain/container-config/user-namespace.ts";
import { type MountableImages, mountableImages, type PresentImage } from "../../domain/images/image-answer.ts";
import type { UnderWay } from "../../domain/images/pull-progress.ts";
import { mountsRecursivelyReadOnly } from "../../domain/node/runtime-health.ts";
import type { RoledContainer } from "../../domain/pod/every-container.ts";
import { containerLogPath, logLinkName, podFolder, podLogFolder, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { type ExitTime, nextBackoff } from "../../domain/pod/restart-backoff.ts";
import { newestOf } from "../../domain/pod/runtime-view.ts";
import { hostAddresses, podAddresses } from "../../domain/pod-status/addresses.ts";
import type { ContainerConfig } from "../../domain/runtime/container.ts";
import type { ImageSpec } from "../../domain/runtime/image.ts";
import type { SandboxConfig, SandboxStatus } from "../../domain/runtime/sandbox.ts";
import { volumeGroups } from "../../domain/volumes/volume-groups.ts";
import { isNameTaken, RuntimeError } from "../../ports/runtime-error.ts";
import { ensureImageVolumes } from "../images/image-volumes.ts";
import { ensureImage } from "./ensure-image.ts";
import { noteHook } from "./hooks.ts";
import { makeEnvironment, type StartPlace } from "./make-environment.ts";
import { nameInJournal, type PodState } from "./pod-state.ts";
import { prepareMounts } from "./prepare-mounts.ts";
import { noteMadeWith } from "./resize.ts";
import { backoffKey } from "./snapshot.ts";
import { NAME_TAKEN_RETRY_MS, StartFailure } from "./start-failure.ts";
import { teller } from "./tell.ts";
import type { PodWorkerCells, PodWorkerPorts, PodWorkerSettings } from "./worker-options.ts";
import { writeHostsFile } from "./write-hosts-file.ts";

export interface ContainerStart {
  readonly pod: Pod;
  readonly roled: RoledContainer;
  readonly restartCount: number;
  /** When it last ended. */
  readonly after: ExitTime | undefined;
  readonly sandbox: SandboxStatus;
  readonly sandboxConfig: SandboxConfig;
}

export type StartCells = Pick<
  PodWorkerCells,
  "services" | "referencedObjects" | "mountState" | "runtimeHealth" | "runtimeClasses"
>;

/** Answers with its id, or with how far its image is. Rejects with a `StartFailure`, or with the signal's reason. */
export async function startContainer(
  start: ContainerStart,
  state: PodState,
  ports: PodWorkerPorts,
  cells: StartCells,
  settings: PodWorkerSettings,
  signal: AbortSignal,
): Promise<string | UnderWay> {
  const { pod, roled, restartCount, sandbox, sandboxConfig } = start;
  const { container } = roled;
  const tell = teller(pod, roled, ports);
  const volumes = await haveVolumeImages(start, state, ports, tell, signal);
  if (volumes.kind === "underWay") return volumes.progress;
  const image = await ensureImage({ pod, container, sandbox: sandboxConfig }, state, ports, tell, signal);
  if (image.kind !== "present") return image;
  await noteRestart(start, state, ports, settings);
  let config: ContainerConfig;
  try {
    config = await configure(start, image, volumes.specs, state, ports, cells, settings, signal);
  } catch (error) {
    signal.throwIfAborted();
    tell("Warning", "Failed", `Error: ${errorText(error)}`);
    throw error instanceof StartFailure ? error : new StartFailure("CreateContainerConfigError", errorText(error));
  }
  noteMadeWith(state, pod, container.name);
  let id: string;
  try {
    id = await ports.runtime.createContainer(sandbox.id, config, sandboxConfig, signal);
    countImageVolumes(volumes.specs.size, undefined, ports);
  } catch (error) {
    countImageVolumes(volumes.specs.size, error, ports);
    // Once a name is taken, by a container or by nothing that can be seen, only the next one helps.
    const taken = isNameTaken(error);
    if (taken) state.restartFloor.set(container.name, restartCount + 1);
    throw failure(error, "CreateContainerError", tell, signal, taken ? NAME_TAKEN_RETRY_MS : undefined);
  }
  tell("Normal", "Created", "Container created");
  await startCreated({ pod, roled, id, restartCount }, state, ports, settings, signal);
  return id;
}

/** How the runtime says that it was the image of a volume that it could not mount. */
const IMAGE_VOLUME_FAILED = "ImageVolumeMountFailed";

function countImageVolumes(count: number, error: unknown, { imageMetrics }: PodWorkerPorts): void {
  const failed = error instanceof RuntimeError && error.detail.includes(IMAGE_VOLUME_FAILED);
  imageMetrics?.volumesRequested.add(count);
  (failed ? imageMetrics?.volumeErrors : imageMetrics?.volumesMounted)?.add(count);
}

/** The images it mounts come before its own: without them nothing is said of it. */
async function haveVolumeImages(
  { pod, roled: { container }, sandboxConfig }: ContainerStart,
  state: PodState,
  ports: PodWorkerPorts,
  tell: ReturnType<typeof teller>,
  signal: AbortSignal,
): Promise<Exclude<MountableImages, { kind: "refused" }>> {
  const answers = await ensureImageVolumes(pod, sandboxConfig, ports, state.volumeImages, signal);
  const images = mountableImages(pod, container, answers);
  if (images.kind !== "refused") return images;
  for (const { reason } of images.all) tell("Warning", "Failed", `Error: ${reason}`);
  throw new StartFailure(images.last.reason, images.last.message, images.last.retryMs);
}

/** Starts a container that exists. */
export async function startCreated(
  {
    pod,
    roled,
    id,
    restartCount,
  }: { readonly pod: Pod; readonly roled: RoledContainer; readonly id: string; readonly restartCount: number },
  state: PodState,
  ports: PodWorkerPorts,
  settings: PodWorkerSettings,
  signal: AbortSignal,
): Promise<void> {
  const { container } = roled;
  const tell = teller(pod, roled, ports);
  // Events of many runs are told as one where they read alike.
  const named = (message: string) => message.replaceAll(id, container.name);
  if (container.lifecycle?.postStart !== undefined) {
    await noteHook({ container: container.name, containerId: id, hook: "postStartDue" }, state, ports);
    state.postStartDue.add(id);
  }
  try {
    await ports.runtime.startContainer(id, signal);
  } catch (error) {
    throw failure(error, "RunContainerError", (type, reason, message) => tell(type, reason, named(message)), signal);
  }
  tell("Normal", "Started", "Container started");
  await linkLog(pod, container, id, restartCount, ports, settings);
}

/** From here on it counts as a restart, whatever comes of it. */
async function noteRestart(
  { roled: { container }, after }: ContainerStart,
  state: PodState,
  { clock, journal }: PodWorkerPorts,
  { backoffCapMs }: PodWorkerSettings,
): Promise<void> {
  if (after === undefined) return;
  const [key, wallMs] = [backoffKey(container), clock.wallMs()];
  const entry = nextBackoff(state.backoffs.get(key), after, wallMs, backoffCapMs);
  const { uid } = state;
  const pod = nameInJournal(state, undefined);
  const { delayMs } = entry;
  await journal.append({ kind: "restarting", uid, pod, wallMs, container: container.name, what: key, delayMs });
  state.backoffs.set(key, entry);
}

const ownFolder = ({ pod, roled: { container } }: ContainerStart, { rootDir }: PodWorkerSettings) =>
  `${podFolder(rootDir, podNameOfObject(pod).uid)}/containers/${container.name}`;

async function makeFolders(
  start: ContainerStart,
  { files }: PodWorkerPorts,
  settings: PodWorkerSettings,
): Promise<void> {
  const logs = podLogFolder(settings.podLogsDir, podNameOfObject(start.pod));
  await files.makeFolder(`${logs}/${start.roled.container.name}`, 0o755);
  await files.makeFolder(ownFolder(start, settings), 0o750);
}

async function configure(
  start: ContainerStart,
  { ref, image }: PresentImage,
  volumeImages: ReadonlyMap<string, ImageSpec>,
  state: PodState,
  ports: PodWorkerPorts,
  cells: StartCells,
  settings: PodWorkerSettings,
  signal: AbortSignal,
): Promise<ContainerConfig> {
  const { files, random } = ports;
  const { pod, roled, restartCount } = start;
  const { container } = roled;
  const place = await placeOf(start, settings);
  const environment = await makeEnvironment(pod, container, place, state, cells, ports, signal);
  const words = commandOf(container, environment);
  if (words.kind === "noText") throw new StartFailure("CreateContainerError", words.message);
  const volumeMounts = await prepareMounts(
    {
      pod,
      container,
      rootDir: settings.rootDir,
      volumes: cells.mountState.get(podNameOfObject(pod).uid) ?? new Map(),
      recursiveReadOnly: mountsRecursivelyReadOnly(cells.runtimeHealth.value, start.sandbox.runtimeHandler),
      volumeImages,
      expand: (text) => expandFully(text, environment),
    },
    ports,
    signal,
  );
  await makeFolders(start, ports, settings);
  const hostsFile = await writeHostsFile(pod, container, place.podIps, files, settings);
  const imageUser = userOf(image);
  const unsafe = whyNotNonRoot(pod, container, imageUser) ?? unusableProfile(pod, container);
  if (unsafe !== undefined) throw new StartFailure("CreateContainerConfigError", unsafe);
  const terminationMessageFile = `${ownFolder(start, settings)}/${random.uuid().slice(0, 8)}`;
  await files.makeFile(terminationMessageFile, 0o666);
  return containerConfig(pod, container, {
    restartCount,
    imageRef: ref,
    imageUser,
    resources: settings.resources.containerResources(pod, container.name),
    security: settings.security,
    identity: {
      volumeGroups: volumeGroups(pod, (key) => cells.referencedObjects.get(key)),
      users: start.sandboxConfig.security?.namespaces?.user ?? NODE_USERS,
    },
    targetId: targetOf(roled, state),
    selinux: settings.selinux,
    stopSignals: settings.stopSignals,
    terminationMessageFile,
    volumeMounts,
    environment,
    words,
    hostsFile,
  });
}

/** Whom somebody wants to look into. */
function targetOf({ role, container }: RoledContainer, { view }: PodState): string | undefined {
  const target = role === "ephemeral" && "targetContainerName" in container ? container.targetContainerName : undefined;
  if (target === undefined || target === "") return undefined;
  const found = view === undefined ? undefined : newestOf(view, target);
  if (found === undefined) throw new Error(`unable to find target container ${target}`);
  return found.id;
}
const userOf = (image: PresentImage["image"]): ImageUser => ({
  ...(image?.uid === undefined ? {} : { uid: image.uid }),
  ...(image?.username === undefined ? {} : { username: image.username }),
});

async function placeOf({ pod, sandbox }: ContainerStart, settings: PodWorkerSettings): Promise<StartPlace> {
  const { status } = await settings.localNode();
  const hostIps = hostAddresses(status?.addresses ?? []);
  // Off the node's network only the sandbox knows: what was told of an earlier one is of the past.
  const before = pod.spec?.hostNetwork === true ? (pod.status?.podIPs ?? []).map(({ ip }) => ip) : [];
  const podIps = podAddresses(pod, before, hostIps, sandbox.ips);
  return { podIps, hostIps, allocatable: status?.allocatable ?? {} };
}

/** Where log agents look. A container runs whether or not its log can be linked. */
async function linkLog(
  pod: Pod,
  container: Pick<Container, "name">,
  id: string,
  restartCount: number,
  { files, log }: PodWorkerPorts,
  settings: PodWorkerSettings,
): Promise<void> {
  const name = podNameOfObject(pod);
  const target = `${podLogFolder(settings.podLogsDir, name)}/${containerLogPath(container.name, restartCount)}`;
  try {
    await files.link(target, `${settings.containerLogLinks}/${logLinkName(name, container.name, id)}`);
  } catch (error) {
    log.error("a container's log could not be linked", error, { container: container.name, uid: name.uid });
  }
}

function failure(
  error: unknown,
  reason: string,
  tell: (type: "Warning", reason: string, message: string) => void,
  signal: AbortSignal,
  retryMs?: number,
): unknown {
  signal.throwIfAborted();
  if (!(error instanceof RuntimeError)) return error;
  tell("Warning", "Failed", `Error: ${error.detail}`);
  return new StartFailure(reason, error.detail, retryMs);
}
