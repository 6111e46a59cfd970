/**
 * The steps with which plugins set up a volume. Each step may be repeated at any time and after any crash: a mount is
 * journaled before it is made, and the kernel's mount table is read before each mount.
 */
import { podSubject } from "../../domain/events/recorded-event.ts";
import { podFileGroup } from "../../domain/volumes/fs-group.ts";
import { podVolumesDirectory } from "../../domain/volumes/layout.ts";
import { groupDirectoryMode } from "../../domain/volumes/write-plan.ts";
import { noteMounting } from "./note-mounting.ts";
import type { SetUpWork } from "./plugin.ts";

const POD_DIRECTORY_MODE = 0o777;
export const PARENT_MODE = 0o750;
const OWN_PARENT_MODE = 0o755;

/** A directory that every user of the pod may write into. */
export async function makeOwnDirectory({ podDirectory, path, ports: { files } }: SetUpWork): Promise<void> {
  // The worker may not have created the pod's directories yet.
  await files.makeDirectory(podVolumesDirectory(podDirectory), PARENT_MODE);
  await files.makeDirectory(path.slice(0, path.lastIndexOf("/")), OWN_PARENT_MODE);
  await files.makeDirectory(path, POD_DIRECTORY_MODE);
  // A umask may have removed bits, either ours or that of a previous kubelet process interrupted here.
  const mode = (await files.facts(path))?.mode ?? 0;
  if ((mode & POD_DIRECTORY_MODE) !== POD_DIRECTORY_MODE) await files.setMode(path, POD_DIRECTORY_MODE);
}

/** Writes the empty file that marks the volume as complete. */
export async function markReady({ readyFileDirectory, ports: { files } }: SetUpWork): Promise<void> {
  const file = `${readyFileDirectory}/ready`;
  if ((await files.facts(file)) !== undefined) return;
  await files.makeDirectory(readyFileDirectory, PARENT_MODE);
  await files.writeNew(file, new Uint8Array(), { mode: 0o644 });
}

export const isMounted = async ({ path, ports }: SetUpWork): Promise<boolean> =>
  (await ports.mounts.table()).some((point) => point.path === path);

export async function mountMemory(work: SetUpWork, sizeBytes: bigint | undefined): Promise<void> {
  const { ports, path, signal } = work;
  await mountOnce(work, async () => {
    await ports.mounts.mountMemory(path, { sizeBytes, noSwap: await ports.mounts.supportsNoswap() }, signal);
  });
}

/** Mounts at the volume's directory unless something is already mounted there. */
export async function mountOnce(work: SetUpWork, mount: () => Promise<void>): Promise<"now" | "before"> {
  const { pod, volume, path, ports } = work;
  if (await isMounted(work)) return "before";
  await noteMounting(pod, { volume: volume.name, path }, ports);
  work.signal.throwIfAborted();
  await mount();
  return "now";
}

/**
 * Applies fsGroup to the root of a volume whose files the kubelet writes: files get their owner when they are written.
 */
export async function applyFsGroupToRoot({ pod, path, ports: { files } }: SetUpWork): Promise<void> {
  const group = podFileGroup(pod);
  if (group === undefined) return;
  const mode = (await files.facts(path))?.mode ?? POD_DIRECTORY_MODE;
  await files.setOwner(path, 0, group);
  await files.setMode(path, groupDirectoryMode(mode, group));
}

const FIRST_EVENT_MS = 30_000;
const EVERY_EVENT_MS = 60_000;

/** Applies fsGroup to the volume's files. Events report when this takes long. */
export async function applyFsGroup(
  work: SetUpWork,
  { readOnly, mounted = "now" }: { readonly readOnly: boolean; readonly mounted?: "now" | "before" },
): Promise<void> {
  const { pod, path, ports, signal } = work;
  const group = podFileGroup(pod);
  if (group === undefined) return;
  const isPersistent = work.volume.persistentVolumeClaim !== undefined || work.volume.ephemeral !== undefined;
  const asPodSays = isPersistent && pod.spec?.securityContext?.fsGroupChangePolicy === "OnRootMismatch";
  // The root is changed last: an interrupted pass is repeated, and a complete one is not repeated under a running pod.
  const onlyIfRootDiffers = asPodSays || mounted === "before";
  const events = longChangeEvents(work);
  try {
    await ports.mounts.applyFsGroup(
      path,
      { group, readOnly, onlyIfRootDiffers, onProgress: events.onProgress },
      signal,
    );
  } finally {
    events.cancel();
  }
}

function longChangeEvents({ pod, path, ports }: SetUpWork) {
  const uid = pod.metadata?.uid ?? "";
  const shown = path.includes(uid) ? path.slice(path.indexOf(uid)) : path;
  let done = 0;
  const emit = (message: string) =>
    ports.events.emit(podSubject(pod), "Warning", "VolumePermissionChangeInProgress", message);
  const advice =
    "https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods";
  const again = () => {
    emit(`Setting volume ownership for ${shown}, processed ${done} files.`);
    cancel = ports.clock.after(EVERY_EVENT_MS, again);
  };
  let cancel = ports.clock.after(FIRST_EVENT_MS, () => {
    emit(
      `Setting volume ownership for ${shown} is taking longer than expected, consider using OnRootMismatch - ${advice}`,
    );
    cancel = ports.clock.after(EVERY_EVENT_MS, again);
  });
  return {
    onProgress: (files: number) => {
      done = files;
    },
    cancel: () => cancel(),
  };
}
