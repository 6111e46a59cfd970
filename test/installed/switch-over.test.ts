/**
 * Switches a node from the Go kubelet to Deckhand and back with the commands of docs/switch-over.md, on a node as
 * kubeadm leaves it, with pods of every kind running. A watch on the API server and, in the guest, containerd's events
 * and the kernel's mount table show that no pod is disrupted.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { isRunning } from "../support/cluster-pods.ts";
import { withoutDisruption } from "../support/disruption-check.ts";
import { containersIn, type EndedPod, podMountsIn } from "../support/guest-inspection.ts";
import {
  begun,
  mayEnd,
  prepare,
  SPECS,
  STATIC_PODS,
  slowlyEndingPod,
  startWorkload,
} from "../support/guest-workload.ts";
import { GuestNode, SLOW_MS } from "../support/joined-guest.ts";
import { changesSince } from "../support/pod-faults.ts";
import { lastingPod, NODE } from "../support/survival-world.ts";
import { examplesUnder } from "../support/typed-lines.ts";
import { CONFIG_MAP, filesSeen } from "../support/volume-pods.ts";

interface Said {
  readonly line: string;
  readonly code: number;
  readonly output: string;
}

describe("switching a node's agent with the commands of docs/switch-over.md", () => {
  const running = [...Object.keys(SPECS), ...STATIC_PODS];
  const ended: EndedPod[] = [];
  let node: GuestNode;

  before(async () => {
    node = await GuestNode.start();
    await prepare(node.guest);
    await node.startKubelet();
    await startWorkload(node);
    await restartOnce("burstable", "second");
  });

  after(() => node.close());

  const containerOf = async (pod: string, name: string) =>
    (await containersIn(node.guest)).find((each) => each.pod === pod && each.name === name) ??
    assert.fail(`${pod}/${name} does not run`);

  /** Gives the container a restart count that later agents must keep. */
  async function restartOnce(pod: string, container: string): Promise<void> {
    await node.guest.must(`kill -KILL ${(await containerOf(pod, container)).pid}`);
    const isBack = (each: Pod) =>
      isRunning(each) && each.status?.containerStatuses?.find(({ name }) => name === container)?.restartCount === 1;
    await node.pods.first(pod, "is back", isBack, SLOW_MS);
  }

  async function typed(lines: readonly string[]): Promise<readonly Said[]> {
    const said: Said[] = [];
    for (const line of lines) {
      const { code, stdout, stderr } = await node.guest.run(`cd /root; ${line}`, { limitMs: SLOW_MS });
      said.push({ line, code, output: `${stdout}${stderr}` });
    }
    return said;
  }

  /**
   * Runs the lines, which replace the agent. Each must exit with 0, and no pod may be disrupted except the terminating
   * ones.
   */
  async function change(lines: readonly string[], mayBeUnready: readonly string[] = []): Promise<readonly Said[]> {
    const watched = { pods: [...running, "finished"], ended, mayBeUnready, look: filesOfVolumes };
    const said = await withoutDisruption(node, watched, () => typed(lines));
    for (const { line, code, output } of said) assert.equal(code, 0, `${line}\n${output}`);
    return said;
  }

  const inVolumes = async (path: string) =>
    (await node.guest.must(`cat /proc/${(await containerOf("volumes", "app")).pid}/root${path}`)).trim();
  const filesOfVolumes = async () => {
    const { pid } = await containerOf("volumes", "app");
    return filesSeen(async (path) => (await node.guest.must(`cat /proc/${pid}/root${path}`)).trim());
  };

  /** Deletes the pod and waits until its container has received the signal. The container runs until `mayEnd`. */
  async function beginsToEnd(name: string): Promise<void> {
    await node.apply(slowlyEndingPod(name));
    const { metadata } = await node.pods.running(name, SLOW_MS);
    ended.push({ name, uid: metadata?.uid ?? "" });
    await node.pods.delete(name);
    await waitUntil(`${name} to hear of it`, SLOW_MS, async () => `${name}.asked` in (await begun(node.guest)), 1_000);
  }

  /** Expects that the pod terminates once, is not started again and leaves nothing behind. */
  async function endsOnce(name: string): Promise<void> {
    const { uid = "" } = ended.find((each) => each.name === name) ?? {};
    await mayEnd(node.guest, name);
    await node.pods.gone(name, SLOW_MS);
    const counts = await begun(node.guest);
    const mounts = (await podMountsIn(node.guest)).filter((line) => line.includes(uid));
    const containers = (await containersIn(node.guest)).filter(({ pod }) => pod === name);
    assert.deepEqual(
      { begun: counts[`${name}.app`], ended: counts[`${name}.ended`], mounts, containers },
      { begun: 1, ended: 1, mounts: [], containers: [] },
    );
    await node.guest.must(`while [ -e /var/lib/kubelet/pods/${uid} ]; do sleep 1; done`, { limitMs: SLOW_MS });
  }

  /**
   * Expects that the agent works: an edit arrives in a volume, the lease is renewed, and a new pod runs. The pod stays.
   */
  async function atWork(name: string): Promise<void> {
    const data = { data: { second: name } };
    await node.cluster.kubectl("patch", "configmap", CONFIG_MAP, "--type=merge", "-p", JSON.stringify(data));
    const renewed = await renewTime();
    await node.apply(lastingPod(name));
    await node.pods.running(name, SLOW_MS);
    running.push(name);
    await waitUntil("the edit", SLOW_MS, async () => (await inVolumes("/config/second")) === name, 1_000);
    await waitUntil("the lease to be renewed", SLOW_MS, async () => (await renewTime()) > renewed, 1_000);
  }

  const renewTime = () =>
    node.cluster.kubectl("get", "lease", NODE, "-n", "kube-node-lease", "-o", "jsonpath={.spec.renewTime}");

  test("restart of the Go kubelet makes probed static pods unready until their probe succeeds, and no other pods", async () => {
    const watched = { pods: [...running, "finished"], mayBeUnready: STATIC_PODS, look: filesOfVolumes };
    const sinceWallMs = Date.now();
    await withoutDisruption(node, watched, () =>
      node.guest.must("systemctl restart kubelet.service", { limitMs: SLOW_MS }),
    );
    const unready = STATIC_PODS.filter((name) => changesSince(name, node.pods.versions(name), sinceWallMs).length > 0);
    figure("static pods unready at a restart of the Go kubelet", unready.length, "pods");
    assert.notDeepEqual(unready, []);
  });

  test("doctor reports only the running Go kubelet before the switch", async () => {
    const [extracted, doctor] = await typed(examplesUnder("docs/switch-over.md", "Looking first"));
    assert.ok(extracted !== undefined && doctor !== undefined);
    assert.equal(extracted.code, 0, extracted.output);
    const found = [...doctor.output.matchAll(/^(?:ERROR|WARNING|NOTE) +(?<name>\S+)/gm)];
    assert.deepEqual(
      found.map(({ groups }) => groups?.["name"]),
      ["another-kubelet"],
      doctor.output,
    );
    assert.equal(doctor.code, 1);
    assert.equal(await node.program(), "kubelet");
  });

  test("[1.20] [27.1.2] [27.1.3] switching to Deckhand disrupts no pod, and a terminating pod terminates once", async () => {
    await beginsToEnd("ends-under-ours");
    const startedMs = performance.now();
    const said = await change(examplesUnder("docs/switch-over.md", "There"));
    figure("there and looked at", Math.round(performance.now() - startedMs), "ms");
    assert.equal(await node.program(), "deckhand");
    assert.match(said.at(-1)?.output ?? "", /agent-running/);
    await endsOnce("ends-under-ours");
    await atWork("made-by-ours");
  });

  test("[1.20] [13.3] switching back to the Go kubelet disrupts no pod of either agent, and a terminating pod terminates once", async () => {
    await beginsToEnd("ends-under-go");
    await change(examplesUnder("docs/switch-over.md", "Back"), STATIC_PODS);
    assert.equal(await node.program(), "kubelet");
    await endsOnce("ends-under-go");
    await atWork("made-by-go");
  });
});
