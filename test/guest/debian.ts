/**
 * What a guest has of Debian: a small system with systemd, and the kernel of Debian's cloud image, which has every cgroup controller, PSI
 * and the drivers of emulated machines. Fetched with an apt of its own and cached; nothing of it is installed here.
 */
import { createHash } from "node:crypto";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cached } from "../cluster/cache.ts";
import { command } from "../cluster/command.ts";
import { privateApt, sourceLines } from "../conformance/images/apt.ts";

const RELEASE = "bookworm";
/**
 * Depends on the newest kernel of its kind: that of the release itself, which has been out for a while. Security's newest may be of today: 6.1.192-1
 * follows a null pointer as soon as ext4 has to read again what memory pressure took away (ext4_mb_load_buddy_gfp).
 */
const KERNEL = "linux-image-cloud-amd64";
const PACKAGES = [
  "ca-certificates",
  "conntrack",
  "curl",
  "dbus",
  "e2fsprogs",
  "ethtool",
  "iproute2",
  "iptables",
  "iputils-ping",
  "kmod",
  // What Node is linked with.
  "libatomic1",
  "libpam-systemd",
  "libseccomp2",
  "mount",
  "openssl",
  "procps",
  "socat",
  "systemd",
  "systemd-sysv",
  "udev",
  "util-linux",
  // mkfs.xfs and xfs_quota.
  "xfsprogs",
] as const;

/** It would be chosen, and with it the whole of perl, where the empty usr-is-merged does as well. */
const REFUSED = "Package: usrmerge\\nPin: release *\\nPin-Priority: -1\\n";
const PREFERENCES = "etc/apt/preferences.d/refused";
const LEFT_OUT = [
  ...["doc", "info", "lintian", "locale", "man"].map((name) => `usr/share/${name}`),
  "etc/apt/sources.list",
  "etc/hostname",
  "etc/resolv.conf",
  PREFERENCES,
  "var/cache/debconf",
  "var/log",
];
const LIMIT_MS = 30 * 60_000;

export interface GuestDebian {
  /** The system, packed, with the modules of the kernel. */
  readonly root: string;
  readonly kernel: string;
  readonly kernelRelease: string;
  /** Changes with any package in it. */
  readonly fingerprint: string;
}

export async function guestDebian(report: (line: string) => void): Promise<GuestDebian> {
  const hash = createHash("sha256").update(await readFile(import.meta.filename));
  const entry = await cached("guest-debian", hash.digest("hex").slice(0, 16), async (scratch) => {
    const startedMs = performance.now();
    report("fetching the guest's kernel");
    const release = await fetchKernel(scratch);
    report("making the guest's Debian");
    await makeRoot(scratch);
    await writeFile(join(scratch, "kernel-release"), release);
    await writeFile(join(scratch, "status"), await command("tar", ["-xOf", join(scratch, "root.tar"), DPKG_STATUS]));
    report(`the guest's Debian: ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
  });
  const kernelRelease = await readFile(join(entry, "kernel-release"), "utf8");
  const status = await readFile(join(entry, "status"));
  return {
    root: join(entry, "root.tar"),
    kernel: join(entry, "vmlinuz"),
    kernelRelease,
    fingerprint: createHash("sha256").update(status).update(kernelRelease).digest("hex"),
  };
}

const DPKG_STATUS = "./var/lib/dpkg/status";

/** Leaves `vmlinuz` and, below `kernel`, the modules. */
async function fetchKernel(scratch: string): Promise<string> {
  const directory = join(scratch, "apt");
  const apt = await privateApt(directory, { sources: await sourceLines("deb", RELEASE) });
  const fetched = async (name: string): Promise<string> => {
    await apt(["download", `${name}/${RELEASE}`], directory);
    const file = (await readdir(directory)).find((each) => each.startsWith(`${name}_`) && each.endsWith(".deb"));
    if (file === undefined) throw new Error(`apt brought no package ${name}`);
    return join(directory, file);
  };
  const depends = await command("dpkg-deb", ["--field", await fetched(KERNEL), "Depends"]);
  const name = /linux-image-[\w.+-]+/.exec(depends)?.[0];
  if (name === undefined) throw new Error(`${KERNEL} names no kernel: ${depends}`);
  const unpacked = join(scratch, "kernel");
  await command("dpkg-deb", ["-x", await fetched(name), unpacked]);
  const [release, ...others] = await readdir(join(unpacked, "lib", "modules"));
  if (release === undefined || others.length > 0) throw new Error(`${name} should hold the modules of one kernel`);
  await rename(join(unpacked, "boot", `vmlinuz-${release}`), join(scratch, "vmlinuz"));
  await rm(directory, { recursive: true });
  return release;
}

async function makeRoot(scratch: string): Promise<void> {
  const root = join(scratch, "root.tar");
  const clean = LEFT_OUT.map((path) => `"$1/${path}"`).join(" ");
  const kernel = join(scratch, "kernel");
  const args = [
    "--quiet",
    "--mode=root",
    "--variant=minbase",
    "--format=tar",
    "--skip=output/dev",
    "--dpkgopt=force-unsafe-io",
    `--include=${PACKAGES.join(",")}`,
    "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
    `--setup-hook=printf '${REFUSED}' > "$1/${PREFERENCES}"`,
    `--customize-hook=rm -rf ${clean}; mkdir "$1/var/log"`,
    `--customize-hook=cp -r "${kernel}/lib/modules" "$1/usr/lib/"`,
    // kubeadm reads there what the kernel can do.
    `--customize-hook=cp "${kernel}/boot/"config-* "$1/boot/"`,
    RELEASE,
    root,
    ...(await sourceLines("deb", RELEASE)),
  ];
  await command("mmdebstrap", args, { env: { SOURCE_DATE_EPOCH: "0" }, limitMs: LIMIT_MS });
  await rm(kernel, { recursive: true });
}
