/**
 * From the Go kubelet to Deckhand and back by the commands of docs/switch-over.md, typed on a node as kubeadm leaves one, under everything that runs there. No
 * pod notices: seen by a watch on the API server, and in the guest by containerd's events and the kernel's table of mounts.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { readyFlips } from "../support/audit.ts";
import { isRunning } from "../support/cluster-pods.ts";
import { type GuestContainer, GuestEyes, NOTHING } from "../support/guest-eyes.ts";
import { GuestNode, SLOW_MS } from "../support/guest-node.ts";
import {
  begun,
  finishedPod,
  mayEnd,
  prepare,
  SPECS,
  STATIC_PODS,
  slowlyEndingPod,
  workloadObjects,
} from "../support/guest-workload.ts";
import { changesSince } from "../support/pod-faults.ts";
import { lastingPod, NODE } from "../support/survival-world.ts";
import { examplesUnder } from "../support/typed-lines.ts";
import { CONFIG_MAP, filesSeen } from "../support/volume-pods.ts";

/** As long as an agent of either kind needs to have looked at everything again, emulated. */
const SETTLE_MS = 60_000;

/** What must be the same afterwards. */
interface Look {
  readonly containers: readonly GuestContainer[];
  readonly mounts: readonly string[];
  readonly files: Readonly<Record<string, string>>;
}

describe("a node changes its agent by the commands of the page", () => {
  const running = [...Object.keys(SPECS), ...STATIC_PODS];
  /** Pods that the test has ended, or has told to. */
  const ended: { readonly name: string; readonly uid: string }[] = [];
  let node: GuestNode;
  let eyes: GuestEyes;

  before(async () => {
    node = await GuestNode.start();
    await prepare(node.guest);
    await node.startKubelet();
    await node.apply(...workloadObjects(), finishedPod("finished"));
    for (const name of running) await node.pods.running(name, SLOW_MS);
    await node.pods.first("finished", "is over", ({ status }) => status?.phase === "Succeeded", SLOW_MS);
    eyes = await GuestEyes.open(node.guest);
    await restartOnce("burstable", "second");
    eyes = await GuestEyes.open(node.guest);
  });

  after(() => node.close());

  /** So that there is a count to be kept. */
  async function restartOnce(pod: string, container: string): Promise<void> {
    const all = await eyes.containers();
    await node.guest.must(`kill -KILL ${all.find((each) => each.pod === pod && each.name === container)?.pid}`);
    const isBack = (each: Pod) =>
      isRunning(each) && each.status?.containerStatuses?.find(({ name }) => name === container)?.restartCount === 1;
    await node.pods.first(pod, "is back", isBack, SLOW_MS);
  }

  /** By line of the page: what it printed, and its exit code. */
  async function typed(lines: readonly string[]) {
    const said = new Map<string, { readonly code: number; readonly stdout: string }>();
    for (const line of lines) {
      const { code, stdout, stderr } = await node.guest.run(`cd /root; ${line}`, { limitMs: SLOW_MS });
      said.set(line, { code, stdout: `${stdout}${stderr}` });
    }
    return said;
  }

  async function takeLook(): Promise<Look> {
    const others = (await eyes.containers()).filter(({ pod }) => !ended.some(({ name }) => name === pod));
    const pid = others.find(({ pod, name }) => pod === "volumes" && name === "app")?.pid;
    const mounts = (await eyes.mounts()).filter((line) => !ended.some(({ uid }) => line.includes(uid)));
    const files = await filesSeen((path) => readIn(pid, path));
    return { containers: others, mounts, files };
  }

  const readIn = async (pid: number | undefined, path: string) =>
    (await node.guest.must(`cat /proc/${pid}/root${path}`)).trim();

  /** Told to end, and in the middle of it: it has heard of it and goes on until it may. */
  async function beginsToEnd(name: string): Promise<void> {
    await node.apply(slowlyEndingPod(name));
    const { metadata } = await node.pods.running(name, SLOW_MS);
    // The mounts of the others are looked at with its own among them.
    await eyes.containers();
    ended.push({ name, uid: metadata?.uid ?? "" });
    await node.pods.delete(name);
    await waitUntil(`${name} to hear of it`, SLOW_MS, async () => `${name}.asked` in (await begun(node.guest)), 1_000);
  }

  /** Types the lines, which change the agent; nobody but what was told to end may notice. */
  async function change(lines: readonly string[]) {
    const [before, counts, sinceWallMs] = [await takeLook(), await begun(node.guest), Date.now()];
    const said = await typed(lines);
    await node.healthy();
    await pause(SETTLE_MS);
    assert.deepEqual(await takeLook(), before);
    assert.deepEqual(withoutEnds(await begun(node.guest)), withoutEnds(counts));
    assert.deepEqual(await eyes.happened(ended), NOTHING);
    const told = [...running, "finished"].flatMap((name) =>
      changesSince(name, node.pods.versions(name), sinceWallMs),
    );
    assert.deepEqual(told, []);
    const mayFlip = (name: string) => (running.includes(name) ? sinceWallMs : 0);
    assert.deepEqual(
      readyFlips(await node.audit(), mayFlip).filter((flip) => Date.parse(flip.split(" ")[0] ?? "") >= sinceWallMs),
      [],
    );
    return said;
  }

  const withoutEnds = (counts: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(counts).filter(([name]) => name.endsWith(".app")));

  /** Once, not started again, with nothing left of it. */
  async function endsOnce(name: string): Promise<void> {
    const { uid = "" } = ended.find((each) => each.name === name) ?? {};
    await mayEnd(node.guest, name);
    await node.pods.gone(name, SLOW_MS);
    const counts = await begun(node.guest);
    assert.deepEqual([counts[`${name}.app`], counts[`${name}.ended`]], [1, 1]);
    assert.deepEqual(
      (await eyes.mounts()).filter((line) => line.includes(uid)),
      [],
    );
    assert.deepEqual(
      (await eyes.containers()).filter(({ pod }) => pod === name),
      [],
    );
    await node.guest.must(`while [ -e /var/lib/kubelet/pods/${uid} ]; do sleep 1; done`, { limitMs: SLOW_MS });
  }

  /** The agent is at work: an edit arrives, the lease is renewed, a new pod runs. */
  async function atWork(name: string): Promise<void> {
    const data = { data: { second: name } };
    await node.cluster.kubectl("patch", "configmap", CONFIG_MAP, "--type=merge", "-p", JSON.stringify(data));
    const renewed = await renewTime();
    await node.apply(lastingPod(name));
    await node.pods.running(name, SLOW_MS);
    running.push(name);
    const pid = (await eyes.containers()).find((each) => each.pod === "volumes" && each.name === "app")?.pid;
    const arrived = async () => (await readIn(pid, "/config/second")) === name;
    await waitUntil("the edit", SLOW_MS, arrived, 1_000);
    await waitUntil("the lease to be renewed", SLOW_MS, async () => (await renewTime()) > renewed, 1_000);
  }

  const renewTime = () =>
    node.cluster.kubectl("get", "lease", NODE, "-n", "kube-node-lease", "-o", "jsonpath={.spec.renewTime}");

  test("beforehand doctor finds the other kubelet, and nothing that would stop or hurt the node", async () => {
    const said = await typed(examplesUnder("docs/switch-over.md", "Looking first"));
    const [[, extracted], [, doctor]] = [...said] as [[string, { code: number }], [string, { code: number; stdout: string }]];
    assert.equal(extracted.code, 0);
    assert.deepEqual([...doctor.stdout.matchAll(/^(?:STOPS|HURTS|NOTE) +(\S+)/gm)].map(([, name]) => name), [
      "another-kubelet",
    ]);
    assert.equal(doctor.code, 2);
    assert.equal(await node.program(), "kubelet");
  });

  test("[1.20] [27.1.2] [27.1.3] there: pods of the Go kubelet notice nothing, and one that was ending ends once", async () => {
    await beginsToEnd("ends-under-ours");
    const startedMs = performance.now();
    const said = await change(examplesUnder("docs/switch-over.md", "There"));
    figure("there, looked at again", Math.round(performance.now() - startedMs), "ms");
    for (const [line, { code, stdout }] of said) assert.equal(code, 0, `${line}\n${stdout}`);
    assert.equal(await node.program(), "deckhand");
    await endsOnce("ends-under-ours");
    await atWork("made-by-ours");
  });

  test("[1.20] [13.3] back: so do those and ours with the Go kubelet, and one that was ending ends once", async () => {
    await beginsToEnd("ends-under-go");
    eyes = await GuestEyes.open(node.guest);
    const said = await change(examplesUnder("docs/switch-over.md", "Back"));
    for (const [line, { code, stdout }] of said) assert.equal(code, 0, `${line}\n${stdout}`);
    assert.equal(await node.program(), "kubelet");
    await endsOnce("ends-under-go");
    await atWork("made-by-go");
  });
});
