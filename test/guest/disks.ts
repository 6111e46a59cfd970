/** Files into a guest and out of it, on disks that are plugged in for as long as it takes. */
import { link, mkdir, rm, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { command } from "../cluster/command.ts";
import { quoted } from "./pieces/qemu.ts";
import type { Qmp } from "./pieces/qmp.ts";

/** What a file or folder of a guest is made from: a path of the host, or the content itself. */
export type Payload = { readonly from: string } | { readonly content: string | Uint8Array; readonly mode?: number };
/** By its path in the guest. A folder is laid over what is there. */
export type Payloads = Readonly<Record<string, Payload>>;

interface DiskUser {
  readonly qmp: Qmp;
  /** A folder of the guest's own on the host. */
  readonly folder: string;
  /** Rejects when the script fails. */
  readonly must: (script: string) => Promise<string>;
}

const LIMIT_MS = 10 * 60_000;
/** Only what is written of it takes place. */
const RESULT_BYTES = 16 * 2 ** 30;

let disksMade = 0;

export async function putFiles(user: DiskUser, payloads: Payloads): Promise<void> {
  const id = nextId();
  const staged = join(user.folder, id);
  const file = `${staged}.img`;
  try {
    await mkdir(staged);
    const steps: string[] = [];
    for (const [index, [target, payload]] of Object.entries(payloads).entries()) {
      await stage(payload, join(staged, String(index)));
      steps.push(
        `mkdir -p ${quoted(dirname(target))}`,
        `cp -rT --preserve=mode,timestamps,links --remove-destination /run/${id}/${index} ${quoted(target)}`,
      );
    }
    await makeFileSystem(staged, file);
    await withDisk(user, { id, file, readOnly: true }, async (device) => {
      const begin = `mkdir /run/${id}\nmount -o ro ${device} /run/${id}\ntrap 'umount /run/${id} && rmdir /run/${id}' EXIT`;
      await user.must(`${begin}\n${steps.join("\n")}`);
    });
  } finally {
    await Promise.all([staged, file].map((path) => rm(path, { recursive: true, force: true })));
  }
}

/** Copies `paths` of the guest below `into`, each at its own path. */
export async function getFiles(user: DiskUser, paths: readonly string[], into: string): Promise<void> {
  const id = nextId();
  const file = join(user.folder, `${id}.img`);
  try {
    await writeFile(file, "");
    await truncate(file, RESULT_BYTES);
    await withDisk(user, { id, file, readOnly: false }, async (device) => {
      const names = paths.map((path) => quoted(`.${path}`)).join(" ");
      // Whole blocks past the guest's cache: half the work, and nothing is left to be written when the disk is pulled out.
      await user.must(`tar -b 2048 -c -C / ${names} | dd of=${device} bs=1M iflag=fullblock oflag=direct status=none`);
    });
    await mkdir(into, { recursive: true });
    await command("tar", ["-xpf", file, "--numeric-owner", "-C", into], { limitMs: LIMIT_MS });
  } finally {
    await rm(file, { force: true });
  }
}

const nextId = () => `disk${(disksMade += 1)}`;

async function stage(payload: Payload, target: string): Promise<void> {
  if ("content" in payload) return writeFile(target, payload.content, { mode: payload.mode ?? 0o644 });
  try {
    // The same file under another name costs nothing. Folders have no second name, nor have files of another file system.
    await link(payload.from, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EPERM" && code !== "EXDEV") throw error;
    await command("cp", ["-rT", "--preserve=mode,timestamps,links", payload.from, target], { limitMs: LIMIT_MS });
  }
}

async function makeFileSystem(folder: string, file: string): Promise<void> {
  const [kib = "0"] = (await command("du", ["-sk", "--apparent-size", folder])).split("\t");
  const [inodes = "0"] = (await command("du", ["-s", "--inodes", folder])).split("\t");
  // A file takes whole blocks, and the file system itself some more.
  const size = Math.ceil(Number(kib) * 1.05) + Number(inodes) * 8 + 16 * 1024;
  const shape = ["-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-N", String(Number(inodes) + 64)];
  await command("mke2fs", [...shape, "-d", folder, file, `${size}k`], { limitMs: LIMIT_MS });
}

async function withDisk(
  { qmp, must }: DiskUser,
  { id, file, readOnly }: { readonly id: string; readonly file: string; readonly readOnly: boolean },
  use: (device: string) => Promise<void>,
): Promise<void> {
  const disk = { driver: "raw", "node-name": id, "read-only": readOnly, cache: { "no-flush": true } };
  await qmp.execute("blockdev-add", { ...disk, file: { driver: "file", filename: file } });
  await qmp.execute("device_add", { driver: "virtio-blk-pci", id, drive: id, serial: id });
  const device = `/dev/disk/by-id/virtio-${id}`;
  try {
    await must(`until [ -b ${device} ]; do sleep 0.05; done`);
    await use(device);
  } finally {
    const gone = qmp.event("DEVICE_DELETED", ({ device: deleted }) => deleted === id);
    // Waited for below; a refusal of the command comes first and is what is told.
    gone.catch(() => {});
    await qmp.execute("device_del", { id });
    await gone;
    await qmp.execute("blockdev-del", { "node-name": id });
  }
}
