/**
 * Layers of Debian packages: a small system that many images stand on, and what single packages add to it. Packed with gzip, without
 * documentation, manuals and translations; the time stamps are fixed, so the same packages give the same layer.
 */
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { digestOf, gzipLayer, type Layer } from "../../../tools/oci.ts";
import { command } from "../../cluster/command.ts";
import { privateApt, sourceLines } from "./apt.ts";
import { keyFor, made, type Report } from "./making.ts";

const RELEASE = "bookworm";
const PACKAGES = [
  "bash",
  "ca-certificates",
  "coreutils",
  "curl",
  "dnsutils",
  "hostname",
  "iperf",
  "iproute2",
  "iputils-ping",
  "netcat-openbsd",
  "procps",
  "util-linux",
] as const;

/** It would be chosen, and with it the whole of perl, where the empty usr-is-merged does as well. */
const REFUSED = "Package: usrmerge\\nPin: release *\\nPin-Priority: -1\\n";
const PREFERENCES = "etc/apt/preferences.d/refused";

const LEFT_OUT = ["doc", "info", "lintian", "locale", "man"].map((name) => `usr/share/${name}`);
/** What mmdebstrap takes over from the machine, or only the making needed. */
const LEFT_OUT_OF_BASE = [
  ...LEFT_OUT,
  "etc/hostname",
  "etc/resolv.conf",
  "etc/apt/sources.list",
  PREFERENCES,
  "var/cache/debconf",
  "var/log",
];

const SOURCES = [import.meta.filename, join(import.meta.dirname, "apt.ts")];
const LIMIT_MS = 20 * 60_000;

export interface DebianBase {
  readonly layer: Layer;
  readonly passwd: string;
  readonly group: string;
  /** Its dpkg database, for the choice of what is to be added to it. */
  readonly status: string;
  readonly key: string;
}

export async function debianBase(report: Report): Promise<DebianBase> {
  const key = await keyFor(SOURCES, []);
  const entry = await made({ kind: "debian-base", key, report }, async (scratch) => {
    const tar = join(scratch, "layer.tar");
    const clean = LEFT_OUT_OF_BASE.map((path) => `"$1/${path}"`).join(" ");
    const args = [
      "--quiet",
      "--mode=root",
      "--variant=minbase",
      "--format=tar",
      // The runtime makes its own.
      "--skip=output/dev",
      "--dpkgopt=force-unsafe-io",
      `--include=${PACKAGES.join(",")}`,
      "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
      `--setup-hook=printf '${REFUSED}' > "$1/${PREFERENCES}"`,
      `--customize-hook=rm -r ${clean}; mkdir "$1/var/log"`,
      RELEASE,
      tar,
      ...(await sourceLines("deb", RELEASE)),
    ];
    await command("mmdebstrap", args, { env: { SOURCE_DATE_EPOCH: "0" }, limitMs: LIMIT_MS });
    for (const [name, path] of Object.entries(KEPT_FROM_BASE)) {
      await writeFile(join(scratch, name), await command("tar", ["-xOf", tar, `./${path}`]));
    }
    await pack(scratch);
  });
  const text = (name: keyof typeof KEPT_FROM_BASE) => readFile(join(entry, name), "utf8");
  return {
    layer: await layerOf(entry),
    passwd: await text("passwd"),
    group: await text("group"),
    status: join(entry, "status"),
    key,
  };
}

const KEPT_FROM_BASE = { passwd: "etc/passwd", group: "etc/group", status: "var/lib/dpkg/status" } as const;

/** What a package and all it needs add to the base: unpacked, not configured, since no maintainer script runs. */
export async function debianPackage(name: string, base: DebianBase, report: Report): Promise<Layer> {
  const key = await keyFor(SOURCES, [base.key, name]);
  const entry = await made({ kind: `debian-${name}`, key, report }, async (scratch) => {
    const aptDirectory = join(scratch, "apt");
    const apt = await privateApt(aptDirectory, { sources: await sourceLines("deb", RELEASE), status: base.status });
    await apt(["install", "--yes", "--no-install-recommends", "--download-only", name]);
    const root = join(scratch, "root");
    await makeMergedRoot(root);
    const archives = join(aptDirectory, "cache", "archives");
    const packages = (await readdir(archives)).filter((file) => file.endsWith(".deb")).toSorted();
    for (const file of packages) {
      await command("sh", [
        "-c",
        'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"',
        "sh",
        join(archives, file),
        root,
      ]);
    }
    for (const path of LEFT_OUT) await rm(join(root, path), { recursive: true, force: true });
    const shape = ["--sort=name", "--mtime=@0", "--numeric-owner", "--format=gnu"];
    const without = MERGED.map((path) => `--exclude=./${path}`);
    await command("tar", [...shape, ...without, "-C", root, "-cf", join(scratch, "layer.tar"), "."], {
      limitMs: LIMIT_MS,
    });
    await Promise.all([root, aptDirectory].map((path) => rm(path, { recursive: true })));
    await pack(scratch);
  });
  return layerOf(entry);
}

/** Links in the base. As directories in a layer above they would hide what the base has there. */
const MERGED = ["bin", "lib", "lib64", "sbin"] as const;

async function makeMergedRoot(root: string): Promise<void> {
  for (const path of MERGED) {
    await mkdir(join(root, "usr", path), { recursive: true });
    await symlink(`usr/${path}`, join(root, path));
  }
}

async function pack(directory: string): Promise<void> {
  const tar = join(directory, "layer.tar");
  const content = await readFile(tar);
  await writeFile(join(directory, "layer.tar.gz"), await promisify(gzip)(content));
  await writeFile(join(directory, "diff-id"), digestOf(content));
  await rm(tar);
}

const layerOf = async (entry: string): Promise<Layer> =>
  gzipLayer(await readFile(join(entry, "layer.tar.gz")), await readFile(join(entry, "diff-id"), "utf8"));
