/**
 * What a guest boots from: a root file system of Debian packages (`debian.ts`), our own parts and the files below `root/`, a kernel and a
 * small initial file system with the drivers of the root disk. Made without loop devices or mounts of ours, and cached by everything in it.
 */
import { createHash, type Hash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { cached } from "../cluster/cache.ts";
import { command } from "../cluster/command.ts";
import type { Parts, ProgramName } from "../cluster/parts.ts";
import { type GuestDebian, guestDebian } from "./debian.ts";

export interface GuestImage {
  readonly key: string;
  readonly disk: string;
  readonly kernel: string;
  readonly initrd: string;
}

const FILES = join(import.meta.dirname, "root");
const RUNNER = join(import.meta.dirname, "runner");
const BUSYBOX = "/bin/busybox";

/** Where the parts are in a guest. The Go kubelet is on nobody's PATH: a guest is for whatever kubelet is put into it. */
const PROGRAMS: Readonly<Record<string, readonly ProgramName[]>> = {
  "usr/local/bin": ["containerd", "containerd-shim-runc-v2", "ctr", "runc", "kubectl", "kubeadm"],
  "opt/cni/bin": ["bridge", "loopback", "host-local", "portmap"],
  "opt/kubernetes/bin": ["kubelet"],
};

const ENABLED = {
  "multi-user.target": ["containerd.service", "deckhand-network.service", "deckhand-runner.service"],
  "getty.target": ["serial-getty@hvc0.service"],
} as const;

/** Would only take time of an emulated processor. */
const MASKED = [
  "apt-daily.timer",
  "apt-daily-upgrade.timer",
  "dpkg-db-backup.timer",
  "e2scrub_all.timer",
  "e2scrub_reap.service",
  "fstrim.timer",
  "getty@tty1.service",
  "serial-getty@ttyS0.service",
  "systemd-tmpfiles-clean.timer",
];

const DISK_SIZE = "8G";
/** What the root disk needs; everything else is loaded from it. */
const INITRD_MODULES = ["virtio_pci", "virtio_blk"];
const INITRD_INIT = `#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
for module in /modules/*; do /bin/busybox insmod "$module" || exec /bin/busybox sh; done
until [ -b /dev/vda ]; do /bin/busybox sleep 0.05; done
/bin/busybox mount -t ext4 -o rw,noinit_itable /dev/vda /root || exec /bin/busybox sh
/bin/busybox mount -o move /dev /root/dev
exec /bin/busybox switch_root /root /sbin/init
`;

export async function buildImage(parts: Parts, report: (line: string) => void): Promise<GuestImage> {
  const debian = await guestDebian(report);
  const hash = createHash("sha256").update(debian.fingerprint);
  hash.update(await command("go", ["env", "GOVERSION"]));
  for (const file of [import.meta.filename, BUSYBOX]) hash.update(await readFile(file));
  for (const directory of [FILES, RUNNER]) await addDirectory(hash, directory);
  // A part's directory is named by what it was built from.
  for (const program of Object.values(PROGRAMS).flat()) hash.update(parts.path(program));
  const key = hash.digest("hex").slice(0, 16);
  const entry = await cached("guest-images", key, async (scratch) => {
    const startedMs = performance.now();
    report("making the guest's image");
    const root = join(scratch, "root");
    await makeRoot(root, debian, parts);
    await makeInitrd(scratch, root, debian.kernelRelease);
    const shape = ["-q", "-t", "ext4", "-O", "^has_journal", "-m", "0"];
    await command("mke2fs", [...shape, "-d", root, join(scratch, "root.img"), DISK_SIZE], { limitMs: LIMIT_MS });
    await rm(root, { recursive: true });
    await copyFile(debian.kernel, join(scratch, "vmlinuz"));
    report(`the guest's image: ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
  });
  return { key, disk: join(entry, "root.img"), kernel: join(entry, "vmlinuz"), initrd: join(entry, "initrd") };
}

const LIMIT_MS = 10 * 60_000;

async function addDirectory(hash: Hash, directory: string): Promise<void> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const file of files.toSorted()) hash.update(file.slice(directory.length)).update(await readFile(file));
}

async function makeRoot(root: string, debian: GuestDebian, parts: Parts): Promise<void> {
  await mkdir(root);
  await command("tar", ["-xpf", debian.root, "--numeric-owner", "-C", root], { limitMs: LIMIT_MS });
  await mkdir(join(root, "dev"), { recursive: true });
  await command("depmod", ["-b", root, debian.kernelRelease], { limitMs: LIMIT_MS });
  await command("cp", ["-r", `${FILES}/.`, root]);
  for (const [directory, programs] of Object.entries(PROGRAMS)) {
    await mkdir(join(root, directory), { recursive: true });
    for (const program of programs) await copyFile(parts.path(program), join(root, directory, program));
  }
  await command(
    "go",
    ["build", "-trimpath", "-ldflags", "-s -w", "-o", join(root, "usr/local/bin/deckhand-runner"), "."],
    {
      cwd: RUNNER,
      env: { CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false -mod=readonly", GOTOOLCHAIN: "local" },
      limitMs: LIMIT_MS,
    },
  );
  const units = join(root, "etc/systemd/system");
  for (const [target, names] of Object.entries(ENABLED)) {
    await mkdir(join(units, `${target}.wants`), { recursive: true });
    for (const name of names) {
      const template = name.replace(/@.*\./, "@.");
      const source = template === name ? `/etc/systemd/system/${name}` : `/usr/lib/systemd/system/${template}`;
      await symlink(source, join(units, `${target}.wants`, name));
    }
  }
  for (const name of MASKED) await symlink("/dev/null", join(units, name));
  await writeFile(join(root, "etc/hostname"), "guest\n");
  await writeFile(join(root, "etc/hosts"), "127.0.0.1 localhost\n127.0.1.1 guest\n");
  await writeFile(join(root, "etc/resolv.conf"), "");
  // An empty one would make each boot the first.
  await writeFile(join(root, "etc/machine-id"), `${createHash("md5").update("deckhand guest").digest("hex")}\n`);
}

async function makeInitrd(scratch: string, root: string, release: string): Promise<void> {
  const directory = join(scratch, "initrd.files");
  for (const name of ["bin", "dev", "modules", "root"]) await mkdir(join(directory, name), { recursive: true });
  await copyFile(BUSYBOX, join(directory, "bin/busybox"));
  const answers = INITRD_MODULES.map((name) =>
    command("modprobe", ["-d", root, "-S", release, "--show-depends", "--ignore-install", name]),
  );
  const lines = (await Promise.all(answers)).flatMap((answer) => answer.split("\n"));
  const modules = new Set(lines.flatMap((line) => /^insmod (?<path>\S+)/.exec(line)?.groups?.["path"] ?? []));
  for (const [index, module] of [...modules].entries()) {
    await copyFile(module, join(directory, "modules", `${String(index).padStart(2, "0")}-${basename(module)}`));
  }
  await writeFile(join(directory, "init"), INITRD_INIT, { mode: 0o755 });
  const pack = 'cd "$1" && find . | busybox cpio -o -H newc | gzip -1 > "$2"';
  await command("sh", ["-ec", pack, "sh", directory, join(scratch, "initrd")]);
  await rm(directory, { recursive: true });
}
