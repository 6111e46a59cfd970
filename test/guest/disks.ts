/** Copies files into a guest and out of it, on disks that are attached only for that time. */
import { link, mkdir, rm, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { command } from "../cluster/command.ts";
import { quoted } from "./pieces/qemu.ts";
import type { Qmp } from "./pieces/qmp.ts";

/** The source of a file or directory in a guest: a path of the host, or the content itself. */
export type Payload = { readonly from: string } | { readonly content: string | Uint8Array; readonly mode?: number };
/** Payloads by their path in the guest. A directory is merged into one that exists. */
export type Payloads = Readonly<Record<string, Payload>>;

interface DiskUser {
  readonly qmp: Qmp;
  /** The guest's directory on the host. */
  readonly directory: string;
  /** Rejects when the script fails. */
  readonly must: (script: string) => Promise<string>;
}

const LIMIT_MS = 10 * 60_000;
/** Only the written part occupies disk space. */
const RESULT_BYTES = 16 * 2 ** 30;

let disksMade = 0;

export async function putFiles(user: DiskUser, payloads: Payloads): Promise<void> {
  const id = nextId();
  const staged = join(user.directory, id);
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
  const file = join(user.directory, `${id}.img`);
  try {
    await writeFile(file, "");
    await truncate(file, RESULT_BYTES);
    await withDisk(user, { id, file, readOnly: false }, async (device) => {
      const names = paths.map((path) => quoted(`.${path}`)).join(" ");
      // Writes whole blocks past the guest's cache: half the work, and nothing is left to be written when the disk is
      // detached.
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
    // A hard link costs nothing. Directories and files of another file system cannot be hard-linked.
    await link(payload.from, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EPERM" && code !== "EXDEV") throw error;
    await command("cp", ["-rT", "--preserve=mode,timestamps,links", payload.from, target], { limitMs: LIMIT_MS });
  }
}

async function makeFileSystem(directory: string, file: string): Promise<void> {
  const [kib = "0"] = (await command("du", ["-sk", "--apparent-size", directory])).split("\t");
  const [inodes = "0"] = (await command("du", ["-s", "--inodes", directory])).split("\t");
  // Files occupy whole blocks, and the file system itself needs some more.
  const size = Math.ceil(Number(kib) * 1.05) + Number(inodes) * 8 + 16 * 1024;
  const shape = ["-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-N", String(Number(inodes) + 64)];
  await command("mke2fs", [...shape, "-d", directory, file, `${size}k`], { limitMs: LIMIT_MS });
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
    // Awaited below. If qemu refuses the command, that error comes first and is the one reported.
    gone.catch(() => {});
    await qmp.execute("device_del", { id });
    await gone;
    await qmp.execute("blockdev-del", { "node-name": id });
  }
}
