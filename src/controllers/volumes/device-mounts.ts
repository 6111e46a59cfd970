/** Block devices that hold a volume: each is mounted once on the node, for all pods that use it, and let go of when the last one has. */
import type { Pod, Volume } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import { formatStep } from "../../domain/volumes/format-plan.ts";
import { deviceMountFolder } from "../../domain/volumes/layout.ts";
import type { VolumeWish } from "../../domain/volumes/volume-wish.ts";
import { noteMounting } from "./note-mounting.ts";
import type { SetUpPorts } from "./set-up-ports.ts";
import { VolumeFailure } from "./volume-failure.ts";

type LocalWish = Extract<VolumeWish, { kind: "local" }>;

/** For which volume of which pod a device is mounted. */
interface DeviceWork {
  readonly pod: Pod;
  readonly volume: Volume;
  readonly ports: SetUpPorts;
  readonly signal: AbortSignal;
}

export class DeviceMounts {
  readonly #rootDir: string;
  /** The work under way on each volume: whoever else wants it comes after. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** By volume, the pods that have asked for it and not let go: their mounts may not be in the table yet. */
  readonly #users = new Map<string, Set<string>>();

  constructor(rootDir: string) {
    this.#rootDir = rootDir;
  }

  /** Answers with the folder where the device's file system is. */
  bring(wish: LocalWish, work: DeviceWork): Promise<string> {
    const users = this.#users.get(wish.volumeName) ?? new Set();
    this.#users.set(wish.volumeName, users.add(podNameOfObject(work.pod).uid));
    return this.inTurn(wish.volumeName, () => this.#mount(wish, work));
  }

  /** After a pod let go of a volume: nothing happens while another pod has it, or is about to. */
  release(
    volumeName: string,
    uid: string,
    ports: Pick<SetUpPorts, "files" | "mounts">,
    signal: AbortSignal,
  ): Promise<void> {
    return this.inTurn(volumeName, async () => {
      const users = this.#users.get(volumeName);
      users?.delete(uid);
      if (users !== undefined && users.size > 0) return;
      this.#users.delete(volumeName);
      const folder = deviceMountFolder(this.#rootDir, volumeName);
      const table = await ports.mounts.table();
      const own = table.find(({ path }) => path === folder);
      if (own === undefined) return;
      const isUsed = table.some(
        ({ path, device }) => path !== folder && device === own.device && path.startsWith(this.#rootDir),
      );
      if (isUsed) return;
      await ports.mounts.unmount(folder, { lazy: false }, signal);
      await ports.files.removeFolder(folder);
    });
  }

  async #mount(wish: LocalWish, { pod, volume, ports, signal }: DeviceWork): Promise<string> {
    const folder = deviceMountFolder(this.#rootDir, wish.volumeName);
    if ((await ports.mounts.table()).some(({ path }) => path === folder)) return folder;
    await ports.files.makeFolder(folder, 0o750);
    await noteMounting(pod, { volume: volume.name, path: folder }, ports);
    try {
      await formatAndMount(wish, folder, ports, signal);
    } catch (error) {
      signal.throwIfAborted();
      await ports.files.removeFolder(folder);
      const cause = `local: failed to mount device ${wish.source} at ${folder} (fstype: ${wish.fsType}), error ${errorText(error)}`;
      throw new VolumeFailure("MountVolume.MountDevice failed", cause);
    }
    return folder;
  }

  /** After whoever works on the same volume already. */
  async inTurn<T>(key: string, run: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(key) ?? Promise.resolve();
    const turn = before.then(run, run);
    const settled = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#turns.set(key, settled);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(key) === settled) this.#turns.delete(key);
    }
  }
}

async function formatAndMount(
  wish: LocalWish,
  folder: string,
  { mounts }: SetUpPorts,
  signal: AbortSignal,
): Promise<void> {
  const { source, fsType, readOnly, mountOptions } = wish;
  const step = formatStep(source, fsType, await mounts.formatOf(source, signal), { readOnly });
  if (step.kind === "refused") throw new Error(step.message);
  if (step.kind === "format") await mounts.format(source, step.type, signal);
  if (step.kind === "mount" && step.check) {
    const outcome = await mounts.check(source, signal);
    if (outcome === "uncorrected")
      throw new Error(`'fsck' found errors on device ${source} but could not correct them`);
  }
  const options = [...new Set([...(readOnly ? ["ro"] : []), ...mountOptions, "defaults"])];
  await mounts.mountDevice(source, folder, fsType, options, signal);
}
