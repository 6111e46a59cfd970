/** The commands of the README about what is left of pods, typed on a node of Deckhand's; and the agent itself beside what they must not touch. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { inRepository } from "../../tools/repository.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { builtBundle } from "../support/built-program.ts";

/** The lines of the README, in its order. */
const LINES = readFileSync(inRepository("README.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("deckhand orphans "));
const [LIST = "", EXPLAIN = "", CLEAN = ""] = LINES;
const UID = EXPLAIN.split(" ")[3] ?? "";
const PLAIN = "00000000-0000-4000-8000-000000000001";
const PODS = "/var/lib/kubelet/pods";
const scratchOf = (uid: string) => `${PODS}/${uid}/volumes/kubernetes.io~empty-dir/scratch`;
const PLANTED = `${scratchOf(UID)}/inner`;

let cluster: Cluster;
let node: ClusterNode;

const type = async (line: string) => node.run(process.execPath, await builtBundle(), ...line.split(" ").slice(1));
const left = async () => (await readdir(node.inside(PODS))).toSorted();

/** A folder of a pod that nobody knows, with something in it. */
async function leave(uid: string): Promise<void> {
  await mkdir(node.inside(`${scratchOf(uid)}/inner`), { recursive: true });
  await writeFile(node.inside(`${scratchOf(uid)}/file`), "left");
}

before(async () => {
  cluster = await startCluster({ controlPlane: "api", nodes: [{ agent: "deckhand" }] });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  await copyFile(join(node.folder, "kubelet.json"), node.inside("/var/lib/kubelet/config.yaml"));
});

after(() => cluster.down());

void suite("what pods left behind", () => {
  test("the README's commands: nothing at first, then two orphans, one of them with a mount that nobody knows in it", async () => {
    assert.equal(LINES.length, 3);
    assert.deepEqual(await type(LIST), { stdout: "no orphans\n", stderr: "", code: 0 });
    await cluster.component(`kubelet@${node.name}`).end();
    await leave(PLAIN);
    await leave(UID);
    await node.run("mount", "-t", "tmpfs", "planted", PLANTED);
    await node.run("sh", "-c", `echo precious > ${PLANTED}/data`);

    const { stdout, code } = await type(LIST);
    const rows = stdout.split("\n").map((row) => row.split(/ {2,}/));
    assert.deepEqual(rows.slice(0, 3), [
      ["UID", "POD", "VOLUMES", "MOUNTS", "STATE"],
      [PLAIN, "-", "1", "0", "can be cleaned"],
      [UID, "-", "1", "0", rows[2]?.[4]],
    ]);
    assert.match(rows[2]?.[4] ?? "", new RegExp(`^held: ${PLANTED} is a mount point that this agent did not make`));
    assert.equal(code, 0);

    const explained = await type(EXPLAIN);
    assert.match(explained.stdout, new RegExp(`^${UID} is an orphan: neither the journal nor the runtime knows`));
    assert.match(explained.stdout, /leaves it alone\.\n$/);
  });

  test("clean removes the one and leaves the other with all that it holds", async () => {
    const { stdout, stderr, code } = await type(CLEAN);
    assert.equal(stdout, `${PLAIN}: removed\n`);
    assert.match(stderr, new RegExp(`^${UID}: left alone: ${PLANTED} is a mount point`));
    assert.equal(code, 1);
    assert.deepEqual(await left(), [UID]);
    assert.equal(await readFile(node.inside(`${scratchOf(UID)}/file`), "utf8"), "left");
    assert.equal((await node.run("cat", `${PLANTED}/data`)).stdout, "precious\n");
  });

  test("the agent sweeps the same way: what is held stays until the mount is gone", async () => {
    await leave(PLAIN);
    await cluster.component(`kubelet@${node.name}`).restart();
    await waitUntil("the sweep", 90_000, async () => !(await left()).includes(PLAIN));
    assert.equal((await node.run("cat", `${PLANTED}/data`)).stdout, "precious\n");
    assert.equal(await readFile(node.inside(`${scratchOf(UID)}/file`), "utf8"), "left");
    await node.run("umount", PLANTED);
    await waitUntil("the next sweep", 90_000, async () => (await left()).length === 0);
    assert.deepEqual(await type(LIST), { stdout: "no orphans\n", stderr: "", code: 0 });
  });
});
