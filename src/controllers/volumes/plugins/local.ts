/**
 * A directory or block device of this node behind a PersistentVolume. An empty device is formatted; a device is mounted
 * once for all pods, and each pod gets a bind mount. The first pod that mounts the volume applies its fsGroup.
 */

import type { PersistentVolume } from "../../../api/gen/core-v1.ts";
import { errorText } from "../../../base/error-text.ts";
import { podSubject } from "../../../domain/events/recorded-event.ts";
import { podNameOfObject } from "../../../domain/pod/pod-names.ts";
import { formatStep } from "../../../domain/volumes/format-plan.ts";
import { podFileGroup } from "../../../domain/volumes/fs-group.ts";
import { deviceMountDirectory } from "../../../domain/volumes/layout.ts";
import type { MountPoint } from "../../../ports/mounts.ts";
import { noteMounting } from "../note-mounting.ts";
import { refused, type SetUpVolume, type SetUpWork, VolumeFailure, type VolumePlugin } from "../plugin.ts";
import { applyFsGroup, mountOnce, PARENT_MODE } from "../set-up.ts";

export interface LocalVolume {
  readonly source: string;
  readonly fsType: string;
  readonly mountOptions: readonly string[];
  readonly readOnly: boolean;
}

export const localPlugin: VolumePlugin = {
  name: "local-volume",
  sources: [],
  persistentSources: ["local"],
  content: "elsewhere",
  holdsFiles: false,
  ownsMount: () => true,
  plan({ persistent, readOnly }) {
    const local = localVolume(persistent, readOnly);
    if (local.source === "") return refused("local volume source is nil or local path is not set");
    if (local.source.split("/").includes("..")) return refused(`invalid path: ${local.source} must not contain '..'`);
    return { kind: "planned", setUp: (work) => setUp(work, local) };
  },
  unstage: ({ name, uid, rootDir, ports, staged, signal }) =>
    staged.release(name, uid, async () => {
      const directory = deviceMountDirectory(rootDir, name);
      const table = await ports.mounts.table();
      const own = table.find(({ path }) => path === directory);
      if (own === undefined) return;
      const isUsed = table.some(
        ({ path, device }) => path !== directory && device === own.device && path.startsWith(rootDir),
      );
      if (isUsed) return;
      await ports.mounts.unmount(directory, { lazy: false }, signal);
      await ports.files.removeDirectory(directory);
    }),
};

export const localVolume = (volume: PersistentVolume | undefined, readOnly: boolean): LocalVolume => ({
  source: volume?.spec?.local?.path ?? "",
  fsType: volume?.spec?.local?.fsType ?? "ext4",
  mountOptions: volume?.spec?.mountOptions ?? [],
  readOnly,
});

async function setUp(work: SetUpWork, local: LocalVolume): Promise<SetUpVolume> {
  const { path, name, ports, signal, staged } = work;
  const { source, readOnly, mountOptions } = local;
  const found = await ports.mounts.kindOf(source, signal);
  const failure = (message: string) => new VolumeFailure("MountVolume.NewMounter initialization failed", message);
  if (found === "absent") throw failure(`path "${source}" does not exist`);
  if (found !== "directory" && found !== "blockDevice") throw failure("only directory and block device are supported");
  await ports.files.makeDirectory(path.slice(0, path.lastIndexOf("/")), PARENT_MODE);
  // Created before the device is mounted: the directory shows the next kubelet process that the device may have to be
  // unmounted.
  if (found === "blockDevice") await ports.mounts.makeDirectory(path, PARENT_MODE, signal);
  const mounted = found === "directory" ? source : await stage(work, local);
  const options = [...(readOnly ? ["ro"] : []), ...mountOptions];
  // One pod after the other: the first one applies its fsGroup.
  await staged.withKeyLock(`bind ${name}`, async () => {
    const when = await mountOnce(work, () => ports.mounts.bind(mounted, path, options, signal));
    if (await isSharedVolume(work)) return;
    if (!readOnly) await applyFsGroup(work, { readOnly: false, mounted: when });
  });
  const measured = { how: "filesystem", once: false, ephemeral: false } as const;
  return { path, readOnly, selinuxRelabel: !readOnly, measured };
}

/** Returns the directory where the device is mounted. */
function stage(work: SetUpWork, local: LocalVolume): Promise<string> {
  const { pod, volume, name, rootDir, ports, staged, signal } = work;
  const { uid } = podNameOfObject(pod);
  return staged.stage(name, uid, async () => {
    const directory = deviceMountDirectory(rootDir, name);
    if ((await ports.mounts.table()).some(({ path }) => path === directory)) return directory;
    await ports.files.makeDirectory(directory, 0o750);
    await noteMounting(pod, { volume: volume.name, path: directory }, ports);
    try {
      await formatAndMount(work, local, directory);
    } catch (error) {
      signal.throwIfAborted();
      await ports.files.removeDirectory(directory);
      const cause = `local: failed to mount device ${local.source} at ${directory} (fstype: ${local.fsType}), error ${errorText(error)}`;
      throw new VolumeFailure("MountVolume.MountDevice failed", cause);
    }
    return directory;
  });
}

async function formatAndMount(
  { ports: { mounts }, signal }: SetUpWork,
  { source, fsType, readOnly, mountOptions }: LocalVolume,
  directory: string,
): Promise<void> {
  const step = formatStep(source, fsType, await mounts.formatOf(source, signal), { readOnly });
  if (step.kind === "refused") throw new Error(step.message);
  if (step.kind === "format") await mounts.format(source, step.type, signal);
  if (step.kind === "mount" && step.check) {
    const outcome = await mounts.check(source, signal);
    if (outcome === "uncorrected")
      throw new Error(`'fsck' found errors on device ${source} but could not correct them`);
  }
  const options = [...new Set([...(readOnly ? ["ro"] : []), ...mountOptions, "defaults"])];
  await mounts.mountDevice(source, directory, fsType, options, signal);
}

/**
 * Whether another pod has mounted the volume too. Then the volume's group stays, and a pod with a different fsGroup
 * gets an event.
 */
async function isSharedVolume({ pod, podDirectory, name, path, ports, signal }: SetUpWork): Promise<boolean> {
  const podsDirectory = podDirectory.slice(0, podDirectory.lastIndexOf("/"));
  if (!isMountedElsewhere(await ports.mounts.table(), path, podsDirectory)) return false;
  const group = podFileGroup(pod);
  const present = await ports.mounts.groupOf(path, signal);
  if (group === undefined || group === present) return true;
  const message = `The requested fsGroup is ${group}, but the volume ${name} has GID ${present}. The volume may not be shareable.`;
  ports.events.emit(podSubject(pod), "Warning", "AlreadyMountedVolume", message);
  return true;
}

function isMountedElsewhere(table: readonly MountPoint[], path: string, podsDirectory: string): boolean {
  const own = table.findLast((point) => point.path === path);
  return table.some(
    (point) =>
      point.path !== path &&
      point.path.startsWith(`${podsDirectory}/`) &&
      point.root === own?.root &&
      point.device === own.device,
  );
}
