/**
 * Builds the Debian package. It replaces the kubelet by diversions: another package's kubelet and unit stay installed
 * under other names, can be upgraded meanwhile, and are restored when ours is removed. Conflicts and Replaces would
 * remove them. kubeadm's drop-in, which names /usr/bin/kubelet, finds ours there. Dependencies are Pre-Depends, because
 * our files replace the kubelet as soon as they are unpacked, even if the package is not configured. The same program
 * gives the same bytes.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { inRepository } from "../repository.ts";

/** Maps Node's architecture names to Debian's. */
export const DEBIAN_NAMES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

export interface DebSource {
  readonly executable: string;
  readonly docs: Readonly<Record<string, string>>;
  readonly version: string;
  /** The Kubernetes version, without its "v". */
  readonly kubernetes: string;
  /** Debian's architecture name. */
  readonly architecture: string;
  /** The modification time of every file in the package, in seconds since the epoch. */
  readonly epoch: number;
}

const control = ({ version, kubernetes, architecture }: DebSource) => `Package: deckhand
Version: ${version}
Architecture: ${architecture}
Maintainer: The Deckhand authors <deckhand@deckhand.invalid>
Section: admin
Priority: optional
Provides: kubelet (= ${kubernetes})
Pre-Depends: libatomic1, libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 8), mount, util-linux
Recommends: conntrack, iptables
Suggests: kubernetes-cni, uidmap
Description: Kubernetes node agent, a drop-in for the Go kubelet
 Deckhand takes the place of the kubelet: the same flags, configuration, ports
 and files. An installed kubelet package stays installed, and is the node's
 agent again when this one is removed. Containers run on meanwhile.
`;

/** Names by which the executable is called besides its own. */
const LINKS: readonly string[] = ["usr/bin/kubelet", "usr/bin/kubectl-why"];

/** Returns the path of the package. */
export function buildDeb(source: DebSource, directory: string): string {
  const { executable, docs, version, architecture, epoch } = source;
  const root = join(directory, ".deb");
  rmSync(root, { recursive: true, force: true });
  const place = (path: string, mode: number, from: { readonly file: string } | { readonly text: string }) => {
    const target = join(root, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o755 });
    if ("file" in from) copyFileSync(from.file, target);
    else writeFileSync(target, from.text);
    execFileSync("chmod", [mode.toString(8), target]);
  };
  try {
    place("DEBIAN/control", 0o644, { text: control(source) });
    for (const script of ["preinst", "postinst", "prerm", "postrm"]) {
      place(`DEBIAN/${script}`, 0o755, { file: inRepository(`tools/package/debian/${script}`) });
    }
    place("DEBIAN/triggers", 0o644, { file: inRepository("tools/package/debian/triggers") });
    place("usr/bin/deckhand", 0o755, { file: executable });
    for (const name of LINKS) symlinkSync("deckhand", join(root, name));
    place("usr/lib/systemd/system/kubelet.service", 0o644, { file: inRepository("tools/package/kubelet.service") });
    place("usr/share/doc/deckhand/copyright", 0o644, { text: docs["licences.txt"] ?? "" });
    place("usr/share/doc/deckhand/sbom.cdx.json", 0o644, { text: docs["sbom.cdx.json"] ?? "" });
    for (const path of ["", ...(readdirSync(root, { recursive: true }) as string[])]) {
      const target = join(root, path);
      if (!LINKS.includes(path)) utimesSync(target, epoch, epoch);
    }
    const output = join(directory, `deckhand_${version}_${architecture}.deb`);
    const build = ["--root-owner-group", "-Zzstd", "-z9", "--build", root, output];
    execFileSync("dpkg-deb", build, {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) },
    });
    return output;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
