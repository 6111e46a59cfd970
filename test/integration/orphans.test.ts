/**
 * Runs the README's commands about orphaned pods on a Deckhand node, and checks that the agent itself keeps what they
 * must not touch.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { inRepository } from "../../tools/repository.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { builtBundle } from "../support/built-program.ts";

/** The command lines of the README, in its order. */
const LINES = readFileSync(inRepository("README.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("deckhand orphans "));
const NONE = "No orphaned pod directories found.\n";
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

/** Creates a directory of an unknown pod, with content. */
async function leave(uid: string): Promise<void> {
  await mkdir(node.inside(`${scratchOf(uid)}/inner`), { recursive: true });
  await writeFile(node.inside(`${scratchOf(uid)}/file`), "left");
}

before(async () => {
  cluster = await startCluster({ controlPlane: "api", nodes: [{ agent: "deckhand" }] });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  await copyFile(join(node.directory, "kubelet.json"), node.inside("/var/lib/kubelet/config.yaml"));
});

after(() => cluster.down());

void suite("orphaned pod directories", () => {
  test("the README's commands list and explain two orphans, one of them with an unknown mount", async () => {
    assert.equal(LINES.length, 3);
    assert.deepEqual(await type(LIST), { stdout: NONE, stderr: "", code: 0 });
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
    assert.match(rows[2]?.[4] ?? "", new RegExp(`^held: ${PLANTED} is a mount point that this agent did not create`));
    assert.equal(code, 0);
    const listed = JSON.parse((await type(`${LIST} -o json`)).stdout) as readonly { readonly uid: string }[];
    assert.deepEqual(
      listed.map(({ uid }) => uid),
      [PLAIN, UID],
    );

    const explained = await type(EXPLAIN);
    assert.match(explained.stdout, new RegExp(`^${UID} is an orphan: neither the journal nor the runtime knows`));
    assert.match(explained.stdout, /does not remove it\.\n$/);
  });

  test("clean removes one orphan, and keeps the other with all of its content", async () => {
    const { stdout, stderr, code } = await type(CLEAN);
    assert.equal(stdout, `${PLAIN}: removed\n`);
    assert.match(stderr, new RegExp(`^${UID}: not removed: ${PLANTED} is a mount point`));
    assert.equal(code, 1);
    assert.deepEqual(await left(), [UID]);
    assert.equal(await readFile(node.inside(`${scratchOf(UID)}/file`), "utf8"), "left");
    assert.equal((await node.run("cat", `${PLANTED}/data`)).stdout, "precious\n");
  });

  test("the agent removes orphans by the same rule: one with a mount stays until the mount is gone", async () => {
    await leave(PLAIN);
    await cluster.component(`kubelet@${node.name}`).restart();
    await waitUntil("the sweep", 90_000, async () => !(await left()).includes(PLAIN));
    assert.equal((await node.run("cat", `${PLANTED}/data`)).stdout, "precious\n");
    assert.equal(await readFile(node.inside(`${scratchOf(UID)}/file`), "utf8"), "left");
    await node.run("umount", PLANTED);
    await waitUntil("the next sweep", 90_000, async () => (await left()).length === 0);
    assert.deepEqual(await type(LIST), { stdout: NONE, stderr: "", code: 0 });
  });
});
