/**
 * A node whose agent comes from packages: first the Go kubelet's package, laid out as upstream's, then Deckhand's over
 * it, an upgrade, and its removal. Its pods keep running. A second test runs Deckhand's image on the node's runtime.
 * dpkg works on a copy of this machine's root; a stand-in for systemctl logs when systemd would have restarted the
 * agent.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { buildDeb } from "../../tools/package/deb.ts";
import { buildImageArchive, imageName } from "../../tools/package/image.ts";
import { scratch } from "../../tools/scratch.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { command, tryCommand } from "../cluster/command.ts";
import { buildParts, type Parts } from "../cluster/parts.ts";
import { builtProgram } from "../support/built-program.ts";
import { ClusterPods, mountingSpec, podOn, STAY, sh } from "../support/cluster-pods.ts";
import { PackageRoot } from "../support/package-root.ts";
import { examplesUnder } from "../support/typed-lines.ts";
import { kubeadmPackage, kubeletPackage } from "../support/upstream-packages.ts";

const RESTART = /^try-restart kubelet\.service: (?<program>\S+)/;

describe("an installed agent", () => {
  const directory = scratch();
  let parts: Parts;
  let cluster: Cluster;
  let node: ClusterNode;
  let pods: ClusterPods;
  let root: PackageRoot;
  let executable: string;
  let docs: Readonly<Record<string, string>>;

  before(async () => {
    ({ executable, docs } = await builtProgram());
    parts = await buildParts();
    cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "go" }] });
    node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
    pods = await ClusterPods.of(cluster);
    const { pid } = cluster.component(`anchor@${node.name}`);
    // Unpacking takes long on a busy machine.
    const inNode = (...args: readonly string[]) =>
      tryCommand("nsenter", ["-m", "-t", String(pid), ...args], { limitMs: 300_000 });
    root = await PackageRoot.make("/run/packages", inNode);
    const program = { file: parts.path("kubelet") };
    const go = await kubeletPackage({ version: "1.36.4-1.1", program }, directory.root);
    await root.must("dpkg", "--install", go, await kubeadmPackage("1.36.4-1.1", directory.root));
    await cluster.changeAgent(node.name, "go", { program: [`${root.path}/usr/bin/kubelet`] });
    await cluster.kubectl("wait", "--for=condition=Ready", `node/${node.name}`, "--timeout=60s");
    await beginPods();
  });

  after(async () => {
    await pods.close();
    await cluster.down();
    directory[Symbol.dispose]();
  });

  /** Creates a pod with a readiness probe and a pod with volumes. */
  async function beginPods(): Promise<void> {
    await cluster.kubectl("create", "configmap", "settings", "--from-literal=greeting=hello");
    const probed = {
      ...sh(`touch /tmp/ready; ${STAY}`),
      readinessProbe: { exec: { command: ["cat", "/tmp/ready"] }, periodSeconds: 1, failureThreshold: 1 },
    };
    await pods.create(podOn(node.name, "probed", { containers: [probed] }));
    await pods.create(podOn(node.name, "mounting", mountingSpec(STAY)));
    await cluster.kubectl("wait", "--for=condition=Ready", "pod/probed", "pod/mounting", "--timeout=60s");
    await cluster.kubectl("exec", "mounting", "--", "sh", "-c", "echo kept >/memory/file");
  }

  /** Fields that would have changed if the agent change had affected a pod. */
  const livesNow = async () => {
    const lines =
      '{range .items[*]}{.metadata.name} {.status.containerStatuses[0].containerID} {.status.containerStatuses[0].restartCount} {.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].lastTransitionTime}{"\\n"}{end}';
    return cluster.kubectl("get", "pods", "probed", "mounting", "-o", `jsonpath=${lines}`);
  };

  /** Restarts the agent as systemd would on request, with the program that is installed as the kubelet then. */
  async function restartAsAsked(agent: "go" | "deckhand"): Promise<void> {
    const asked = (await root.asked()).flatMap((line) => RESTART.exec(line)?.groups?.["program"] ?? []);
    assert.deepEqual(asked, [agent === "go" ? "/usr/bin/kubelet" : "/usr/bin/deckhand"]);
    await cluster.changeAgent(node.name, agent, { program: [`${root.path}/usr/bin/kubelet`] });
  }

  /** Asserts that the agent runs a new pod and can exec into an existing one. */
  async function works(name: string): Promise<void> {
    await pods.create(podOn(node.name, name, { containers: [sh(STAY)] }));
    await cluster.kubectl("wait", "--for=condition=Ready", `pod/${name}`, "--timeout=60s");
    assert.equal(
      await cluster.kubectl("exec", "mounting", "--", "cat", "/memory/file", "/settings/greeting"),
      "kept\nhello",
    );
    await cluster.kubectl("delete", "pod", name, "--wait");
  }

  const ours = (version: string) =>
    buildDeb(
      { executable, docs, version, kubernetes: "1.36.4", architecture: "amd64", epoch: 1_700_000_000 },
      directory.root,
    );

  test("Deckhand's package replaces the Go kubelet's, is upgraded and removed, and no pod is affected", async () => {
    const before = await livesNow();
    for (const version of ["0.1.0", "0.2.0"]) {
      await root.must("dpkg", "--install", ours(version));
      await restartAsAsked("deckhand");
      await works(`under-${version.replaceAll(".", "-")}`);
      assert.equal(await livesNow(), before);
    }
    await root.must("dpkg", "--remove", "deckhand");
    await restartAsAsked("go");
    await works("under-go");
    assert.equal(await livesNow(), before);
    for (const pod of ["probed", "mounting"]) {
      const readiness = pods
        .versions(pod)
        .map(({ pod: { status } }) => status?.conditions?.find(({ type }) => type === "Ready")?.status);
      assert.ok(!readiness.slice(readiness.indexOf("True")).includes("False"), `${pod}: ${readiness.join(" ")}`);
    }
  });

  test("the image runs under the node's runtime, as deckhand and as kubelet", async () => {
    buildImageArchive({ executable, docs, version: "0.0.0", architecture: "amd64" }, directory.root);
    const ctr = `${parts.path("ctr")} --address ${node.containerdSocket} --namespace deckhand`;
    const { pid } = cluster.component(`anchor@${node.name}`);
    /**
     * Runs a documented line against the node's runtime, in the directory of the archive and in a cgroup that is
     * removed with the cluster.
     */
    const typed = (line: string) => {
      const here = line
        .replace(/^ctr /, `${ctr} `)
        .replace(" run --rm ", ` run --rm --cgroup ${node.cgroupParent}/image `);
      const script = `cd ${directory.root}; ${here}`;
      return command("nsenter", ["-m", "-t", String(pid), "bash", "-ec", script], { limitMs: 120_000 });
    };
    const said = new Map<string, string>();
    for (const line of examplesUnder("docs/install.md", "The image")) said.set(line, await typed(line));
    const run = `ctr run --rm ${imageName("0.0.0")}`;
    const version = "deckhand 0.0.0 (Kubernetes v1.36.4)\n";
    assert.equal(said.get(`${run} version /usr/bin/deckhand --version`), version);
    assert.equal(await typed(`${run} kubelet /usr/bin/kubelet --version`), "Kubernetes v1.36.4\n");
    assert.match(await typed(`${run} sbom /usr/bin/deckhand sbom`), /"bomFormat": "CycloneDX"/);
    // The image contains the programs that the agent runs, with their libraries.
    assert.match(await typed(`${run} mount /bin/mount --version`), /^mount from util-linux/);
    const held = await typed(`${run} flock /usr/bin/flock /proc /bin/sh -c "echo held; exec cat /proc/self/comm"`);
    assert.equal(held, "held\ncat\n");
  });
});
