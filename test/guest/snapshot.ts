/**
 * A guest that has booted, with containerd running and the test images in it, kept as the state of its machine beside the overlay of its
 * disk. To go on from there takes a second or two, a boot half a minute. Created again when any of its inputs changes.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { cached } from "../cluster/cache.ts";
import { command } from "../cluster/command.ts";
import { buildImages } from "../cluster/images.ts";
import { buildParts } from "../cluster/parts.ts";
import { waitUntil } from "../cluster/wait.ts";
import type { Guest } from "./guest.ts";
import { buildImage, type GuestImage } from "./image.ts";
import { QEMU, quoted } from "./pieces/qemu.ts";
import { startGuest } from "./start.ts";

export interface Snapshot {
  readonly key: string;
  readonly image: GuestImage;
  /** The overlay of the image's disk, as it was at that moment. */
  readonly disk: string;
  readonly state: string;
}

const IMPORT_MS = 10 * 60_000;
const KEEP_MS = 5 * 60_000;
const SOURCES = ["snapshot.ts", "start.ts", "pieces/qemu.ts"].map((name) => join(import.meta.dirname, name));

/** Builds what is not in the cache yet, from the parts on. */
export async function guestSnapshot(report: (line: string) => void = () => {}): Promise<Snapshot> {
  const parts = await buildParts(report);
  const { archives } = await buildImages(parts);
  const image = await buildImage(parts, report);
  const hash = createHash("sha256")
    .update(image.key)
    .update(await command(QEMU, ["--version"]));
  // An archive's directory is named by what is in it.
  for (const file of archives) hash.update(file);
  for (const file of SOURCES) hash.update(await readFile(file));
  const key = hash.digest("hex").slice(0, 16);
  const entry = await cached("guest-snapshots", key, async (scratch) => {
    const startedMs = performance.now();
    const since = () => `${((performance.now() - startedMs) / 1000).toFixed(0)} s`;
    report("booting a guest to be kept");
    const guest = await startGuest({
      name: `keep-${key.slice(0, 8)}`,
      disposable: true,
      mayReboot: false,
      kernel: image.kernel,
      initrd: image.initrd,
      base: { file: image.disk, format: "raw" },
    });
    try {
      await prepare(guest, archives);
      report(`the guest is ready to be kept after ${since()}`);
      await keep(guest, scratch);
    } finally {
      await guest.close();
    }
    report(`a guest is kept after ${since()}`);
  });
  return { key, image, disk: join(entry, "disk.qcow2"), state: join(entry, "state") };
}

async function prepare(guest: Guest, archives: readonly string[]): Promise<void> {
  const state = await guest.settled();
  if (state !== "running") {
    throw new Error(`the guest came up ${state}\n${await guest.must("systemctl --failed --no-legend")}`);
  }
  await guest.must("systemctl is-active containerd");
  await guest.put(Object.fromEntries(archives.map((from) => [`/var/tmp/${basename(from)}`, { from }])));
  for (const archive of archives) {
    const file = `/var/tmp/${basename(archive)}`;
    await guest.must(`ctr -n k8s.io images import --local ${file}\nrm ${file}`, { limitMs: IMPORT_MS });
  }
  await guest.must("sync\necho 3 > /proc/sys/vm/drop_caches");
}

async function keep(guest: Guest, directory: string): Promise<void> {
  await guest.monitor("stop");
  await guest.monitor("migrate-set-parameters", { "max-bandwidth": 2 ** 40 });
  await guest.monitor("migrate", { uri: `exec:cat > ${quoted(join(directory, "state"))}` });
  await waitUntil("the guest's state to be written", KEEP_MS, async () => {
    const { status, "error-desc": trouble } = (await guest.monitor("query-migrate")) as MigrationStatus;
    if (status === "failed" || status === "cancelled") throw new Error(`qemu could not keep the guest: ${trouble}`);
    return status === "completed";
  });
  await guest.monitor("quit");
  // Only then is all of its disk in the file.
  await guest.ended();
  await command("mv", [join(guest.directory, "disk.qcow2"), directory], { limitMs: KEEP_MS });
}

interface MigrationStatus {
  readonly status?: string;
  readonly "error-desc"?: string;
}
