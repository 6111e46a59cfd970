/**
 * Brings one volume of a pod to where its containers find it. May be done again at any time and after any crash: it looks at the kernel's table before it
 * mounts, and what it is about to mount is in the journal before it is mounted.
 */
import type { Pod, Volume } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import { podFileGroup } from "../../domain/volumes/fs-user.ts";
import { hostPathStep } from "../../domain/volumes/host-path.ts";
import { markerFolder, podVolumesFolder, volumeFolder } from "../../domain/volumes/layout.ts";
import type { MountedVolume } from "../../domain/volumes/volume-state.ts";
import { placeOf, type VolumeWish } from "../../domain/volumes/volume-wish.ts";
import { groupFolderMode } from "../../domain/volumes/write-plan.ts";
import type { MountPoint } from "../../ports/mounts.ts";
import type { DeviceMounts } from "./device-mounts.ts";
import { noteMounting } from "./note-mounting.ts";
import type { SetUpPorts } from "./set-up-ports.ts";
import { VolumeFailure } from "./volume-failure.ts";

export interface SetUp {
  readonly pod: Pod;
  readonly podFolder: string;
  readonly volume: Volume;
  readonly ports: SetUpPorts;
  readonly devices: DeviceMounts;
  readonly signal: AbortSignal;
}

type Mountable = Exclude<VolumeWish, { kind: "unknown" | "unprocessed" | "refused" }>;

const POD_FOLDER_MODE = 0o777;
const PARENT_MODE = 0o750;
const OWN_PARENT_MODE = 0o755;

/** Rejects with a `VolumeFailure`, a `MountError`, a `HostFileError` or the signal's reason. */
export async function setUpVolume(work: SetUp, wish: Mountable): Promise<MountedVolume> {
  const { plugin, name } = placeOf(work.volume, wish);
  const path = volumeFolder(work.podFolder, plugin, name);
  switch (wish.kind) {
    case "folder":
    case "memory":
    case "hugepages":
      await setUpOwn(work, wish, path, markerFolder(work.podFolder, plugin, name));
      return { name, path, readOnly: false, selinuxRelabel: true };
    case "files":
      await makeOwnFolder(work, path);
      if (wish.memory !== undefined) await mountMemory(work, path, wish.memory.sizeBytes);
      await ownRoot(work, path);
      await mark(work, markerFolder(work.podFolder, plugin, name));
      return { name, path, readOnly: true, selinuxRelabel: true };
    case "hostPath":
      await checkHostPath(work, wish.path, wish.type);
      return { name, path: wish.path, readOnly: wish.readOnly, selinuxRelabel: false };
    case "local":
      await setUpLocal(work, wish, path);
      return { name, path, readOnly: wish.readOnly, selinuxRelabel: !wish.readOnly };
    case "image":
      // Its image is had when the first container that mounts it starts, and the runtime mounts it.
      return { name, path: "", readOnly: true, selinuxRelabel: true };
    default:
      return assertNever(wish);
  }
}

/** A volume that the pod fills itself: once it was made whole, what is in it is the pod's business. */
async function setUpOwn(
  work: SetUp,
  wish: Extract<VolumeWish, { kind: "folder" | "memory" | "hugepages" }>,
  path: string,
  marker: string,
): Promise<void> {
  const { files, mounts } = work.ports;
  const isMarked = (await files.facts(`${marker}/ready`)) !== undefined;
  const isThere =
    wish.kind === "folder"
      ? (await files.facts(path)) !== undefined
      : (await mounts.table()).some((point) => point.path === path);
  if (isMarked && isThere) return;
  // The mark of what is gone, with the memory that it was in, says nothing of what takes its place.
  if (isMarked) await files.removeTree(marker);
  await makeOwnFolder(work, path);
  if (wish.kind === "memory") await mountMemory(work, path, wish.sizeBytes);
  if (wish.kind === "hugepages")
    await mountOnce(work, path, () => mounts.mountHugepages(path, wish.pageSize, work.signal));
  await own(work, path, false);
  await mark(work, marker);
}

async function makeOwnFolder({ podFolder, ports: { files } }: SetUp, path: string): Promise<void> {
  // The pod's own folders may not be made yet.
  await files.makeFolder(podVolumesFolder(podFolder), PARENT_MODE);
  await files.makeFolder(path.slice(0, path.lastIndexOf("/")), OWN_PARENT_MODE);
  await files.makeFolder(path, POD_FOLDER_MODE);
  // A umask may have taken something away, now or in a life that ended here.
  const mode = (await files.facts(path))?.mode ?? 0;
  if ((mode & POD_FOLDER_MODE) !== POD_FOLDER_MODE) await files.setMode(path, POD_FOLDER_MODE);
}

/** An empty file, which says to whoever comes next that the volume was made whole. */
async function mark({ ports: { files } }: SetUp, folder: string): Promise<void> {
  const file = `${folder}/ready`;
  if ((await files.facts(file)) !== undefined) return;
  await files.makeFolder(folder, PARENT_MODE);
  await files.writeNew(file, new Uint8Array(), { mode: 0o644 });
}

async function mountMemory(work: SetUp, path: string, sizeBytes: bigint | undefined): Promise<void> {
  const { ports, signal } = work;
  await mountOnce(work, path, async () => {
    await ports.mounts.mountMemory(path, { sizeBytes, noSwap: await ports.mounts.knowsNoSwap() }, signal);
  });
}

/** Unless something is mounted there already; the ledger first. Says which it was. */
async function mountOnce(work: SetUp, path: string, mount: () => Promise<void>): Promise<"now" | "before"> {
  const { pod, volume, ports } = work;
  const isMounted = (await ports.mounts.table()).some((point) => point.path === path);
  if (isMounted) return "before";
  await noteMounting(pod, { volume: volume.name, path }, ports);
  work.signal.throwIfAborted();
  await mount();
  return "now";
}

const FIRST_WORD_MS = 30_000;
const EVERY_WORD_MS = 60_000;

/** Hands the volume to the pod's group. It may take long: the pod's owner hears of it. */
async function own(work: SetUp, path: string, readOnly: boolean, mounted: "now" | "before" = "now"): Promise<void> {
  const { pod, ports, signal } = work;
  const group = podFileGroup(pod);
  if (group === undefined) return;
  const isPersistent = work.volume.persistentVolumeClaim !== undefined || work.volume.ephemeral !== undefined;
  const asPodSays = isPersistent && pod.spec?.securityContext?.fsGroupChangePolicy === "OnRootMismatch";
  // A pass that was cut short has not come to the root, which is last; one that was not is not made again under the pod.
  const onlyIfRootDiffers = asPodSays || mounted === "before";
  const uid = pod.metadata?.uid ?? "";
  const shown = path.includes(uid) ? path.slice(path.indexOf(uid)) : path;
  let done = 0;
  const tell = (message: string) =>
    ports.events.emit({ kind: "Pod", ...podNameOfObject(pod) }, "Warning", "VolumePermissionChangeInProgress", message);
  const advice =
    "https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods";
  let cancel = ports.clock.after(FIRST_WORD_MS, () => {
    tell(
      `Setting volume ownership for ${shown} is taking longer than expected, consider using OnRootMismatch - ${advice}`,
    );
    const again = () => {
      tell(`Setting volume ownership for ${shown}, processed ${done} files.`);
      cancel = ports.clock.after(EVERY_WORD_MS, again);
    };
    cancel = ports.clock.after(EVERY_WORD_MS, again);
  });
  const onProgress = (files: number) => {
    done = files;
  };
  try {
    await ports.mounts.own(path, { group, readOnly, onlyIfRootDiffers, onProgress }, signal);
  } finally {
    cancel();
  }
}

/** Of a volume that we write: its files get their owner when they are written. */
async function ownRoot({ pod, ports: { files } }: SetUp, path: string): Promise<void> {
  const group = podFileGroup(pod);
  if (group === undefined) return;
  const mode = (await files.facts(path))?.mode ?? POD_FOLDER_MODE;
  await files.setOwner(path, 0, group);
  await files.setMode(path, groupFolderMode(mode, group));
}

async function checkHostPath({ ports: { mounts }, signal }: SetUp, path: string, type: string): Promise<void> {
  if (type === "") return;
  const step = hostPathStep(path, type, await mounts.kindOf(path, signal));
  if (step.kind === "refused") throw new VolumeFailure("MountVolume.SetUp failed", step.message);
  if (step.kind === "makeFolder") await mounts.makeFolder(path, step.mode, signal);
  if (step.kind === "makeFile") await mounts.makeFile(path, step.mode, signal);
}

async function setUpLocal(work: SetUp, wish: Extract<VolumeWish, { kind: "local" }>, path: string): Promise<void> {
  const { ports, signal, devices } = work;
  const found = await ports.mounts.kindOf(wish.source, signal);
  const refuse = (message: string) => new VolumeFailure("MountVolume.NewMounter initialization failed", message);
  if (found === "absent") throw refuse(`path "${wish.source}" does not exist`);
  if (found !== "folder" && found !== "blockDevice") throw refuse("only directory and block device are supported");
  await ports.files.makeFolder(path.slice(0, path.lastIndexOf("/")), PARENT_MODE);
  // From before its device is mounted: by this folder whoever comes next finds that there is one to let go of.
  if (found === "blockDevice") await ports.mounts.makeFolder(path, PARENT_MODE, signal);
  const source = found === "folder" ? wish.source : await devices.bring(wish, work);
  const options = [...(wish.readOnly ? ["ro"] : []), ...wish.mountOptions];
  // One after the other: who comes first hands the volume to a group.
  await devices.inTurn(`bind ${wish.volumeName}`, async () => {
    const when = await mountOnce(work, path, () => ports.mounts.bind(source, path, options, signal));
    if (await isOthersToo(work, wish.volumeName, path)) return;
    if (!wish.readOnly) await own(work, path, false, when);
  });
}

/** Whether another pod has the same volume. Then it is not handed to another group under it; whoever asks for another hears of it. */
async function isOthersToo({ pod, podFolder, ports, signal }: SetUp, name: string, path: string): Promise<boolean> {
  if (!isMountedElsewhere(await ports.mounts.table(), path, podFolder.slice(0, podFolder.lastIndexOf("/"))))
    return false;
  const group = podFileGroup(pod);
  const present = await ports.mounts.groupOf(path, signal);
  if (group === undefined || group === present) return true;
  const message = `The requested fsGroup is ${group}, but the volume ${name} has GID ${present}. The volume may not be shareable.`;
  ports.events.emit({ kind: "Pod", ...podNameOfObject(pod) }, "Warning", "AlreadyMountedVolume", message);
  return true;
}

function isMountedElsewhere(table: readonly MountPoint[], path: string, podsFolder: string): boolean {
  const own = table.findLast((point) => point.path === path);
  return table.some(
    (point) =>
      point.path !== path &&
      point.path.startsWith(`${podsFolder}/`) &&
      point.root === own?.root &&
      point.device === own.device,
  );
}
