/**
 * From the Go kubelet to Deckhand and back by the commands of docs/switch-over.md, typed on a node as kubeadm leaves one, under everything that runs there. No
 * pod notices: seen by a watch on the API server, and in the guest by containerd's events and the kernel's table of mounts.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { isRunning } from "../support/cluster-pods.ts";
import { containersIn, type EndedPod, podMountsIn } from "../support/guest-eyes.ts";
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
import { unnoticed } from "../support/unnoticed.ts";
import { CONFIG_MAP, filesSeen } from "../support/volume-pods.ts";

interface Said {
  readonly line: string;
  readonly code: number;
  readonly output: string;
}

describe("a node changes its agent by the commands of the page", () => {
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

  /** So that there is a count to be kept. */
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

  /** The lines change the agent; nobody notices but what was told to end, and each of them does what it should. */
  async function change(lines: readonly string[], mayBeUnready: readonly string[] = []): Promise<readonly Said[]> {
    const watched = { pods: [...running, "finished"], ended, mayBeUnready, look: filesOfVolumes };
    const said = await unnoticed(node, watched, () => typed(lines));
    for (const { line, code, output } of said) assert.equal(code, 0, `${line}\n${output}`);
    return said;
  }

  const inVolumes = async (path: string) =>
    (await node.guest.must(`cat /proc/${(await containerOf("volumes", "app")).pid}/root${path}`)).trim();
  const filesOfVolumes = async () => {
    const { pid } = await containerOf("volumes", "app");
    return filesSeen(async (path) => (await node.guest.must(`cat /proc/${pid}/root${path}`)).trim());
  };

  /** Told to end, and in the middle of it: it has heard of it and goes on until it may. */
  async function beginsToEnd(name: string): Promise<void> {
    await node.apply(slowlyEndingPod(name));
    const { metadata } = await node.pods.running(name, SLOW_MS);
    ended.push({ name, uid: metadata?.uid ?? "" });
    await node.pods.delete(name);
    await waitUntil(`${name} to hear of it`, SLOW_MS, async () => `${name}.asked` in (await begun(node.guest)), 1_000);
  }

  /** Once, not started again, with nothing left of it. */
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

  /** The agent is at work: an edit arrives, the lease is renewed, and a new pod runs, which is there to stay. */
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

  test("restarted by itself the Go kubelet calls probed static pods unready until their probe answers, and no others", async () => {
    const watched = { pods: [...running, "finished"], mayBeUnready: STATIC_PODS, look: filesOfVolumes };
    const sinceWallMs = Date.now();
    await unnoticed(node, watched, () => node.guest.must("systemctl restart kubelet.service", { limitMs: SLOW_MS }));
    const unready = STATIC_PODS.filter((name) => changesSince(name, node.pods.versions(name), sinceWallMs).length > 0);
    figure("static pods unready at a restart of the Go kubelet", unready.length, "pods");
    assert.notDeepEqual(unready, []);
  });

  test("beforehand doctor finds the other kubelet, and nothing that would stop or hurt the node", async () => {
    const [extracted, doctor] = await typed(examplesUnder("docs/switch-over.md", "Looking first"));
    assert.ok(extracted !== undefined && doctor !== undefined);
    assert.equal(extracted.code, 0, extracted.output);
    const found = [...doctor.output.matchAll(/^(?:STOPS|HURTS|NOTE) +(?<name>\S+)/gm)];
    assert.deepEqual(
      found.map(({ groups }) => groups?.["name"]),
      ["another-kubelet"],
      doctor.output,
    );
    assert.equal(doctor.code, 2);
    assert.equal(await node.program(), "kubelet");
  });

  test("[1.20] [27.1.2] [27.1.3] there: pods of the Go kubelet notice nothing, and one that was ending ends once", async () => {
    await beginsToEnd("ends-under-ours");
    const startedMs = performance.now();
    const said = await change(examplesUnder("docs/switch-over.md", "There"));
    figure("there and looked at", Math.round(performance.now() - startedMs), "ms");
    assert.equal(await node.program(), "deckhand");
    assert.match(said.at(-1)?.output ?? "", /agent-running/);
    await endsOnce("ends-under-ours");
    await atWork("made-by-ours");
  });

  test("[1.20] [13.3] back: neither do those and ours, with the Go kubelet, and one that was ending ends once", async () => {
    await beginsToEnd("ends-under-go");
    await change(examplesUnder("docs/switch-over.md", "Back"), STATIC_PODS);
    assert.equal(await node.program(), "kubelet");
    await endsOnce("ends-under-go");
    await atWork("made-by-go");
  });
});
