/**
 * Replaces the agent of one node under pods with volumes: the Go kubelet by Deckhand and back. No volume is mounted
 * again, and each agent tears down the other's volumes.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { OutsideOracle } from "../support/outside-oracle.ts";
import { lastingPod, NODE } from "../support/survival-world.ts";
import {
  CONFIG_MAP,
  diskOf,
  filesSeen,
  makeDirectories,
  mountsOf,
  readIn,
  sharedOf,
  volumeObjects,
  volumePod,
} from "../support/volume-pods.ts";

const NAMES = ["staying", "leaving", "ours"];
/** The Go kubelet then checks its volumes this often. */
const OFTEN = { configuration: { syncFrequency: "5s" } };
/** Long enough for either agent to check everything twice. */
const SETTLE_MS = 12_000;
const ARRIVAL_MS = 60_000;

interface Kept {
  readonly uid: string;
  readonly pid: number;
  readonly mounts: readonly string[];
  readonly files: Readonly<Record<string, string>>;
}

/** False for a process that ends meanwhile. */
function isFirst(pid: number): boolean {
  try {
    return /^NSpid:.*\t1$/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

describe("pods with volumes while a node changes its agent", () => {
  let cluster: Cluster;
  let node: ClusterNode;
  let oracle: OutsideOracle;
  const kept = new Map<string, Kept>();

  before(async () => {
    cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "go", options: OFTEN }] });
    node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
    oracle = await OutsideOracle.start(cluster, NODE);
    await makeDirectories(node, NAMES);
    await apply("objects", { apiVersion: "v1", kind: "List", items: volumeObjects(node, NAMES) });
    await Promise.all(["staying", "leaving"].map(runs));
  });

  after(async () => {
    oracle.stop();
    await cluster.down();
  });

  async function apply(name: string, object: object): Promise<void> {
    const file = join(cluster.layout.directory, `${name}.json`);
    await writeFile(file, JSON.stringify(object));
    await cluster.kubectl("apply", "-f", file);
  }

  async function runs(name: string): Promise<void> {
    await apply(name, lastingPod(name, volumePod(node, name)));
    await cluster.kubectl("wait", "--for=condition=Ready", `pod/${name}`, "--timeout=60s");
    const uid = await cluster.kubectl("get", "pod", name, "-o", "jsonpath={.metadata.uid}");
    await waitUntil("its words", 10_000, () => readIn(firstPid(uid), "/part/written").then((text) => text === name));
    kept.set(name, await look(uid));
  }

  /**
   * The process that has PID 1 in its container; host PIDs wrap around at some point, so the lowest is not the first.
   */
  const firstPid = (uid: string): number =>
    oracle.pidsOf(uid).find((pid) => isFirst(pid)) ?? assert.fail(`${uid} has a process`);
  const look = async (uid: string): Promise<Kept> => {
    const pid = firstPid(uid);
    return { uid, pid, mounts: await mountsOf(node, uid), files: await filesSeen((path) => readIn(pid, path)) };
  };

  /** Asserts the same process, the same mounts and the same content of every file. */
  async function untouched(...names: readonly string[]): Promise<void> {
    await pause(SETTLE_MS);
    for (const name of names) {
      const before = kept.get(name) ?? assert.fail(`${name} was looked at`);
      // A tmpfs for each of five volumes, the claim, and a subpath of each of two volumes.
      assert.equal(before.mounts.length, 8, before.mounts.join("\n"));
      assert.deepEqual(await look(before.uid), before);
    }
    assert.deepEqual(oracle.verdict(), { doubled: [], lost: [], restarted: [] });
  }

  async function anEditArrives(value: string, ...names: readonly string[]): Promise<void> {
    const data = { data: { second: value } };
    await cluster.kubectl("patch", "configmap", CONFIG_MAP, "--type=merge", "-p", JSON.stringify(data));
    for (const name of names) {
      const { uid, pid, mounts } = kept.get(name) ?? assert.fail(`${name} was looked at`);
      const arrived = async () => (await readIn(pid, "/config/second")) === value;
      await waitUntil(`the edit in ${name}`, ARRIVAL_MS, arrived);
      assert.deepEqual(await mountsOf(node, uid), mounts, "an edit mounts nothing");
      kept.set(name, await look(uid));
    }
  }

  /** Deletes the pod and asserts that nothing of it is left on the node but files that are not the pod's. */
  async function goes(name: string): Promise<void> {
    const { uid } = kept.get(name) ?? assert.fail(`${name} was looked at`);
    oracle.mayEnd(uid);
    await cluster.kubectl("delete", "pod", name, "--timeout=60s");
    assert.deepEqual(await mountsOf(node, uid), []);
    const pods = node.inside("/var/lib/kubelet/pods");
    await waitUntil("its directory to be gone", 60_000, async () => !(await readdir(pods)).includes(uid));
    assert.equal(await readFile(join(diskOf(node, name), "a", "b", "written"), "utf8"), `${name}\n`);
    assert.deepEqual(await readdir(sharedOf(node)), ["note"]);
  }

  test("[13.3] [27.1.9] [27.1.16] under Deckhand, pods of the Go kubelet keep every mount and file, get an edit, and one terminates", async () => {
    await cluster.changeAgent(NODE, "deckhand", OFTEN);
    await untouched("staying", "leaving");
    await anEditArrives("edited under ours", "staying", "leaving");
    await goes("leaving");
    await runs("ours");
    await untouched("staying", "ours");
  });

  test("[27.1.11] [27.1.12] back under the Go kubelet, its own and Deckhand's pods keep every mount and file, get an edit, and terminate", async () => {
    await cluster.changeAgent(NODE, "go", OFTEN);
    await untouched("staying", "ours");
    await anEditArrives("edited under Go", "staying", "ours");
    await goes("ours");
    await goes("staying");
  });
});
