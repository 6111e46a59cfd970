/**
 * The packages of the Go kubelet and of kubeadm as upstream lays them out, with files of the test: the state of a node
 * before Deckhand is installed.
 */
import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { command } from "../cluster/command.ts";

/** Upstream's unit, option by option: a simple service that always restarts. */
export const UPSTREAM_UNIT = `[Unit]
Description=kubelet: The Kubernetes Node Agent
Documentation=https://kubernetes.io/docs/
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
`;

/** kubeadm's drop-in, option by option: files of kubeadm and of the user make up the command line. */
export const KUBEADM_DROP_IN = `[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
`;

/**
 * The maintainer scripts of upstream's package, as the packaging macros for systemd generate them. They enable the
 * service whenever the package is configured, and start nothing. On removal they disable and stop it, whichever package
 * owns the unit by then.
 */
const SCRIPTS = {
  postinst: `#!/bin/sh
if [ "$1" = configure ]; then systemctl preset kubelet.service >/dev/null 2>&1 || :; fi
`,
  prerm: `#!/bin/sh
if [ "$1" = remove ]; then
  systemctl --no-reload disable kubelet.service >/dev/null 2>&1 || :
  systemctl stop kubelet.service >/dev/null 2>&1 || :
fi
`,
  postrm: `#!/bin/sh
systemctl daemon-reload >/dev/null 2>&1 || :
`,
};

export interface UpstreamKubelet {
  readonly version: string;
  readonly program: { readonly text: string } | { readonly file: string };
  /** Older packages install the unit below /lib. */
  readonly units?: "/usr/lib" | "/lib";
}

/** Builds the package and returns its path. */
export function kubeletPackage(
  { version, program, units = "/usr/lib" }: UpstreamKubelet,
  directory: string,
): Promise<string> {
  const scripts = Object.entries(SCRIPTS).map(([name, text]) => [`DEBIAN/${name}`, { mode: "755", text }]);
  return build({ name: "kubelet", version, depends: "" }, directory, {
    ...Object.fromEntries(scripts),
    "/usr/bin/kubelet": { mode: "755", ...program },
    [`${units}/systemd/system/kubelet.service`]: { mode: "644", text: UPSTREAM_UNIT },
  });
}

/**
 * The program does nothing unless one is given. Since 1.30 upstream's package no longer depends on the kubelet; this
 * one does, like all earlier ones.
 */
export function kubeadmPackage(
  version: string,
  directory: string,
  program: UpstreamKubelet["program"] = { text: "#!/bin/sh\n" },
): Promise<string> {
  return build({ name: "kubeadm", version, depends: "Depends: kubelet (>= 1.19.0)\n" }, directory, {
    "/usr/bin/kubeadm": { mode: "755", ...program },
    "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf": { mode: "644", text: KUBEADM_DROP_IN },
  });
}

type Files = Readonly<
  Record<string, { readonly mode: string } & ({ readonly text: string } | { readonly file: string })>
>;

async function build(
  { name, version, depends }: { readonly name: string; readonly version: string; readonly depends: string },
  directory: string,
  files: Files,
): Promise<string> {
  const root = join(directory, `${name}-${version}`);
  await rm(root, { recursive: true, force: true });
  await mkdir(join(root, "DEBIAN"), { recursive: true });
  await writeFile(
    join(root, "DEBIAN/control"),
    `Package: ${name}\nVersion: ${version}\nArchitecture: amd64\nMaintainer: test\n${depends}Description: test\n`,
  );
  for (const [path, source] of Object.entries(files)) {
    const target = join(root, path);
    await mkdir(dirname(target), { recursive: true });
    if ("file" in source) await copyFile(source.file, target);
    else await writeFile(target, source.text);
    await command("chmod", [source.mode, target]);
  }
  const output = join(directory, `${name}_${version}.deb`);
  await command("dpkg-deb", ["--root-owner-group", "-Znone", "--build", root, output]);
  return output;
}
