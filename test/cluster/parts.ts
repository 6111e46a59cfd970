/**
 * The programs of a real cluster, built from pinned Go modules.
 *
 * An upstream has its own go.mod under `parts/`, because their dependency versions conflict; two of the same module share
 * one. The programs of one
 * upstream are one cache entry, keyed by its go.mod, go.sum, our sources, the build settings and the Go version; a
 * second run finds it. A cold build takes 20 minutes on two cores, so it reports its progress.
 */
import { createHash } from "node:crypto";
import { readFile, statfs } from "node:fs/promises";
import { join } from "node:path";
import { cached, cacheRoot, exists } from "./cache.ts";
import { command } from "./command.ts";

const KUBERNETES_VERSION = "v1.36.4";

interface Upstream {
  /** Program name → Go package. A name that ends in `.test` is built from the package's tests. */
  readonly programs: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  readonly flags: readonly string[];
  readonly linkerFlags: string;
  /** The directory of its go.mod, if that is another upstream's. */
  readonly module?: string;
  /** Our files beside its go.mod that are built with it. */
  readonly sources?: readonly string[];
}

const pure = { env: { CGO_ENABLED: "0" }, flags: [], linkerFlags: "-s -w" } as const;

// Without these flags every Kubernetes program reports v0.0.0-master.
const kubernetes = {
  ...pure,
  linkerFlags: [
    "-s -w",
    ...Object.entries({
      gitVersion: KUBERNETES_VERSION,
      gitMajor: "1",
      gitMinor: "36",
      gitCommit: "deckhand-test-parts",
      gitTreeState: "clean",
      buildDate: "2026-01-01T00:00:00Z",
    }).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`),
  ].join(" "),
} as const;

const upstreams = {
  etcd: { ...pure, programs: { etcd: "go.etcd.io/etcd/server/v3" } },
  containerd: {
    ...pure,
    programs: {
      containerd: "github.com/containerd/containerd/v2/cmd/containerd",
      "containerd-shim-runc-v2": "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
      ctr: "github.com/containerd/containerd/v2/cmd/ctr",
    },
  },
  runc: {
    programs: { runc: "github.com/opencontainers/runc" },
    env: { CGO_ENABLED: "1" },
    flags: ["-tags", "seccomp"],
    linkerFlags: "-s -w",
  },
  cni: {
    ...pure,
    programs: {
      bridge: "github.com/containernetworking/plugins/plugins/main/bridge",
      loopback: "github.com/containernetworking/plugins/plugins/main/loopback",
      "host-local": "github.com/containernetworking/plugins/plugins/ipam/host-local",
      portmap: "github.com/containernetworking/plugins/plugins/meta/portmap",
    },
  },
  registry: { ...pure, programs: { registry: "github.com/distribution/distribution/v3/cmd/registry" } },
  coredns: { ...pure, programs: { coredns: "." }, sources: ["main.go"] },
  "metrics-server": { ...pure, programs: { "metrics-server": "sigs.k8s.io/metrics-server/cmd/metrics-server" } },
  kubernetes: {
    ...kubernetes,
    programs: {
      "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
      "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
      "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
      kubeadm: "k8s.io/kubernetes/cmd/kubeadm",
      kubectl: "k8s.io/kubernetes/cmd/kubectl",
      kubelet: "k8s.io/kubernetes/cmd/kubelet",
      "kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy",
      agnhost: "k8s.io/kubernetes/test/images/agnhost",
    },
  },
  conformance: { ...kubernetes, programs: { "e2e.test": "k8s.io/kubernetes/test/e2e" } },
  "node-tests": {
    ...kubernetes,
    module: "conformance",
    programs: { "e2e_node.test": "k8s.io/kubernetes/test/e2e_node" },
  },
  // What runs upstream's own tests, and programs that exist only in their images.
  "test-tools": {
    ...kubernetes,
    module: "conformance",
    programs: {
      ginkgo: "github.com/onsi/ginkgo/v2/ginkgo",
      nnp: "k8s.io/kubernetes/test/images/nonewprivs",
      "sample-device-plugin": "k8s.io/kubernetes/test/images/sample-device-plugin",
    },
  },
  "sample-apiserver": { ...pure, programs: { "sample-apiserver": "k8s.io/sample-apiserver" } },
} as const satisfies Record<string, Upstream>;

export type UpstreamName = keyof typeof upstreams;
export type ProgramName = { [U in UpstreamName]: keyof (typeof upstreams)[U]["programs"] }[UpstreamName];

/** The upstreams whose programs make up a cluster. */
export const CLUSTER_UPSTREAMS = [
  "etcd",
  "containerd",
  "runc",
  "cni",
  "registry",
  "coredns",
  "metrics-server",
  "kubernetes",
] as const satisfies readonly UpstreamName[];

/** Paths of the built programs. */
export interface Parts {
  path(program: ProgramName): string;
  /** The directory that holds all programs of one upstream. */
  directory(upstream: UpstreamName): string;
}

const BYTES_WANTED_FOR_A_COLD_BUILD = 14 * 2 ** 30;

/** Builds programs that are not in the cache yet, and returns the paths of all. */
export async function buildParts(
  report: (line: string) => void = () => {},
  names: readonly UpstreamName[] = CLUSTER_UPSTREAMS,
): Promise<Parts> {
  const goVersion = (await command("go", ["env", "GOVERSION"])).trim();
  const keys = new Map(await Promise.all(names.map(async (name) => [name, await keyOf(name, goVersion)] as const)));
  const missing: UpstreamName[] = [];
  for (const name of names) if (!(await exists(join(cacheRoot(), "parts", key(keys, name))))) missing.push(name);
  if (missing.length > 0) await sayHowMuchDiskIsFree(report);

  const total = missing.reduce((sum, name) => sum + Object.keys(upstreams[name].programs).length, 0);
  let turn = 0;
  const directories = new Map<UpstreamName, string>();
  for (const name of names) {
    const directory = await cached("parts", key(keys, name), async (scratch) => {
      for (const [program, goPackage] of Object.entries(upstreams[name].programs)) {
        turn += 1;
        const startedMs = Date.now();
        report(`[${turn}/${total}] building ${program} of ${name}`);
        await build(upstreams[name], partDirectory(name), { program, goPackage }, scratch);
        report(`[${turn}/${total}] ${program}: ${((Date.now() - startedMs) / 1000).toFixed(0)} s`);
      }
    });
    directories.set(name, directory);
  }
  const directory = (name: UpstreamName) => key(directories, name);
  return { directory, path: (program) => join(directory(upstreamOf(program)), program) };
}

function key<K, V>(map: ReadonlyMap<K, V>, name: K): V {
  const value = map.get(name);
  if (value === undefined) throw new Error(`${String(name)} was not requested`);
  return value;
}

/**
 * Returns the source directory of one of an upstream's modules. Downloads it when the machine has only the programs.
 */
export async function moduleDirectory(name: UpstreamName, module: string): Promise<string> {
  const env = { GOFLAGS: "-mod=readonly", GOTOOLCHAIN: "local" };
  const answer = await command("go", ["mod", "download", "-json", module], {
    cwd: partDirectory(name),
    env,
    limitMs: 10 * 60_000,
  });
  const { Dir } = JSON.parse(answer) as { readonly Dir: string };
  return Dir;
}

function partDirectory(name: UpstreamName): string {
  const { module = name }: Upstream = upstreams[name];
  return join(import.meta.dirname, "parts", module);
}

function upstreamOf(program: ProgramName): UpstreamName {
  for (const [name, upstream] of Object.entries(upstreams)) {
    if (program in upstream.programs) return name as UpstreamName;
  }
  throw new Error(`no upstream builds ${program}`);
}

async function keyOf(name: UpstreamName, goVersion: string): Promise<string> {
  const hash = createHash("sha256");
  const { sources = [] }: Upstream = upstreams[name];
  for (const file of ["go.mod", "go.sum", ...sources]) hash.update(await readFile(join(partDirectory(name), file)));
  hash.update(JSON.stringify([upstreams[name], goVersion]));
  return `${name}-${hash.digest("hex").slice(0, 16)}`;
}

async function build(
  { linkerFlags, flags, env }: Upstream,
  cwd: string,
  { program, goPackage }: { readonly program: string; readonly goPackage: string },
  directory: string,
): Promise<void> {
  const verb = program.endsWith(".test") ? ["test", "-c", "-vet=off"] : ["build"];
  const args = [...verb, "-trimpath", "-ldflags", linkerFlags, ...flags, "-o", join(directory, program), goPackage];
  await command("go", args, {
    cwd,
    env: { ...env, GOFLAGS: "-buildvcs=false -mod=readonly", GOTOOLCHAIN: "local" },
    limitMs: 45 * 60_000,
  });
}

async function sayHowMuchDiskIsFree(report: (line: string) => void): Promise<void> {
  const { bavail, bsize } = await statfs(cacheRoot()).catch(() => statfs("/"));
  const free = bavail * bsize;
  const gib = (bytes: number) => `${(bytes / 2 ** 30).toFixed(0)} GiB`;
  report(`a cold build needs about ${gib(BYTES_WANTED_FOR_A_COLD_BUILD)} of disk; ${gib(free)} are free`);
  if (free < BYTES_WANTED_FOR_A_COLD_BUILD) throw new Error(`too little disk for a cold build: ${gib(free)} free`);
}
