/**
 * One ginkgo run of e2e_node.test on an isolated node. The program starts etcd, an API server and the kubelet itself,
 * in the node's namespaces and cgroups, and ends them. Whatever it leaves behind ends with the cluster.
 */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { Cluster, ClusterNode } from "../cluster/cluster.ts";
import { makeServiceCgroup } from "../cluster/node.ts";
import type { Parts } from "../cluster/parts.ts";
import { focusOf, suites } from "../conformance/ratchet.ts";
import { type GinkgoRun, ginkgoFlags, ginkgoReport } from "../conformance/suite.ts";
import { makeKubeletDirectory } from "./kubelet-directory.ts";
import type { TreeTest } from "./tree.ts";

export const CGROUP_DRIVER = "cgroupfs";

const STAND_INS = join(import.meta.dirname, "stand-ins");

/** What all runs on one node share. */
export interface SuiteNode {
  readonly cluster: Cluster;
  readonly node: ClusterNode;
  readonly parts: Parts;
  readonly kubeletDirectory: string;
  /** Path of the kubelet's configuration, which the tests complete. */
  readonly configuration: string;
  readonly runtimePidFile: string;
}

export async function prepareNode(cluster: Cluster, parts: Parts, agent: "go" | "deckhand"): Promise<SuiteNode> {
  const [node] = cluster.nodes;
  if (node === undefined) throw new Error("the cluster has no node");
  const configuration = join(node.directory, "kubelet-base.json");
  await writeFile(configuration, JSON.stringify(baseConfiguration(node), undefined, 2));
  const runtimePidFile = join(node.directory, "containerd.pid");
  // Upstream parses the whole file as a number.
  await writeFile(runtimePidFile, String(cluster.component(`containerd@${node.name}`).pid));
  const kubeletDirectory = await makeKubeletDirectory(node.directory, agent, parts);
  return { cluster, node, parts, kubeletDirectory, configuration, runtimePidFile };
}

/** Upstream's base configuration (jenkins/default-kubelet-config.yaml), for a shared machine with cgroup v1. */
const baseConfiguration = (node: ClusterNode): object => ({
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  cgroupDriver: CGROUP_DRIVER,
  cgroupRoot: "/",
  podCIDR: node.podRange,
  volumeStatsAggPeriod: "10s",
  fileCheckFrequency: "10s",
  evictionPressureTransitionPeriod: "30s",
  evictionHard: { "memory.available": "250Mi", "nodefs.available": "1%", "nodefs.inodesFree": "1%" },
  serializeImagePulls: false,
  failCgroupV1: false,
  failSwapOn: false,
  // The default lies outside the node's own directories.
  volumePluginDir: "/var/lib/kubelet/volume-plugins",
});

export interface SuiteRun extends Omit<GinkgoRun, "focus"> {
  readonly tests: readonly TreeTest[];
  /** Further flags of e2e_node.test. */
  readonly flags: readonly string[];
}

/** The directory of a run's own files: the kubelet's log (`kubelet.log`) and the services' (`services.log`). */
export const reportDirectory = ({ directory, name }: Pick<SuiteRun, "directory" | "name">): string =>
  join(directory, name);

/** The administrator's kubeconfig, once the API server of a run has started. */
export const kubeconfigOf = ({ node }: SuiteNode, { name }: Pick<SuiteRun, "name">): string =>
  join(node.directory, "tests", name, "kubeconfig");

/** Returns ginkgo's report. */
export async function runSuite(suiteNode: SuiteNode, run: SuiteRun, signal: AbortSignal): Promise<unknown> {
  const { cluster, node, parts } = suiteNode;
  // The program writes its files in the working directory, which is the directory of its path.
  const work = join(node.directory, "tests", run.name);
  const units = join(work, "units");
  const temporary = join(work, "tmp");
  for (const directory of [units, temporary, reportDirectory(run)]) await mkdir(directory, { recursive: true });
  const program = join(work, "e2e_node.test");
  await symlink(parts.path("e2e_node.test"), program);
  const focus = focusOf(
    run.tests.map(({ name }) => name),
    suites.node,
  );
  const ginkgo = await cluster.start(
    {
      name: `ginkgo-${run.name}`,
      command: [
        "/bin/sh",
        "-ec",
        'cd "$1"; shift; exec "$@"',
        "sh",
        work,
        parts.path("ginkgo"),
        ...ginkgoFlags({ ...run, focus }),
        program,
        "--",
        ...programFlags(suiteNode, run),
      ],
      env: {
        PATH: [STAND_INS, process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin"].join(delimiter),
        DECKHAND_UNITS: units,
        TMPDIR: temporary,
      },
      cgroup: await makeServiceCgroup(node, run.name),
      ready: { kind: "became", program: "ginkgo" },
    },
    node,
  );
  return ginkgoReport(ginkgo, run, signal);
}

const programFlags = (suiteNode: SuiteNode, run: SuiteRun): readonly string[] => [
  `--node-name=${suiteNode.node.name}`,
  `--k8s-bin-dir=${suiteNode.kubeletDirectory}`,
  `--container-runtime-endpoint=${suiteNode.node.criEndpoint}`,
  `--container-runtime-pid-file=${suiteNode.runtimePidFile}`,
  "--prepull-images=false",
  `--kubelet-flags=--node-ip=${suiteNode.node.address}`,
  `--kubelet-config-file=${suiteNode.configuration}`,
  `--report-dir=${reportDirectory(run)}`,
  ...run.flags,
];
