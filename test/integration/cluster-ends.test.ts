/**
 * How clusters end when something fails: their creators are interrupted or killed, two start at once, directories are
 * removed, things are left behind.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { exists } from "../cluster/cache.ts";
import { startCluster } from "../cluster/cluster.ts";
import { command } from "../cluster/command.ts";
import { down, forget } from "../cluster/down.ts";
import { machineState } from "../cluster/leftovers.ts";
import { readRecord } from "../cluster/record.ts";
import { takeSlot } from "../cluster/slots.ts";
import { waitUntil } from "../cluster/wait.ts";
import { assertNothingIsLeft, bare, CLI, slotsOf } from "./cluster-world.ts";

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  test(`${signal} during up on the command line tears down what has started`, async () => {
    const name = `ended-${signal.toLowerCase()}`;
    const up = spawn(process.execPath, [CLI, "--name", name, "up", "--agent", "go"], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said: Buffer[] = [];
    for (const stream of [up.stdout, up.stderr]) stream.on("data", (chunk: Buffer) => said.push(chunk));
    const exited = once(up, "close");
    await waitUntil("some parts to be up", 30_000, async () => ((await readRecord(name))?.components.length ?? 0) >= 3);
    up.kill(signal);
    const [code] = (await exited) as [number];
    assert.equal(code, 1);
    assert.match(Buffer.concat(said).toString(), new RegExp(`up was ended by ${signal}\n$`));
    await assertNothingIsLeft(name);
  });
}

test("one of two concurrent ups with the same name fails, and the other succeeds", async () => {
  const name = "twice";
  const outcomes = await Promise.allSettled([bare(name), bare(name)]);
  const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [String(outcome.reason)] : []));
  assert.deepEqual(refused, ["Error: cluster twice is being started or ended by another process"]);
  await assert.rejects(bare(name), /cluster twice is up already/);
  assert.equal((await slotsOf(name)).length, 1);
  await down(name);
  await assert.rejects(down(name), /there is no cluster twice/);
  await assertNothingIsLeft(name);
});

test("a down that failed fails again until everything left behind is gone", async () => {
  const cluster = await bare();
  const { name, directory } = cluster.layout;
  await command("nft", ["add", "table", "ip", "deckhand_left"]);
  try {
    await command("nft", ["add", "chain", "ip", "deckhand_left", "here"]);
    const left = new RegExp(`cluster ${name} left behind:\n  packet filter chain ip deckhand_left here$`);
    await assert.rejects(cluster.down(), left);
    assert.equal(await exists(directory), false);
    await assert.rejects(cluster.down(), left);
  } finally {
    await command("nft", ["delete", "table", "ip", "deckhand_left"]);
  }
  await cluster.down();
  await assertNothingIsLeft(name);
});

test("down names a new interface or mount, which blocks no other cluster and which forget clears", async () => {
  const cluster = await bare();
  const { name } = cluster.layout;
  const mountPoint = `/run/left-by-${name}`;
  await command("ip", ["link", "add", "left0", "type", "veth", "peer", "name", "left1"]);
  await command("mkdir", [mountPoint]);
  await command("mount", ["-t", "tmpfs", "tmpfs", mountPoint]);
  try {
    await assert.rejects(cluster.down(), (error: Error) => {
      for (const line of ["interface left0", "interface left1", `mount ${mountPoint}`]) {
        assert.ok(error.message.includes(`\n  ${line}`), `${line} is not in\n${error.message}`);
      }
      return true;
    });
    const reported: string[] = [];
    const other = await startCluster({ controlPlane: "none", nodes: [], report: (line) => reported.push(line) });
    await other.down();
    assert.match(reported.join("\n"), new RegExp(`cluster ${name} left behind`));
    await forget(name);
    await assertNothingIsLeft(name);
  } finally {
    await command("umount", [mountPoint]);
    await command("rmdir", [mountPoint]);
    await command("ip", ["link", "del", "left0"]);
  }
});

test("down ends a cluster whose directory was removed, and the cluster blocks no other of its name", async () => {
  for (const end of [() => down("folderless"), async () => (await bare("folderless")).down()]) {
    const { layout } = await bare("folderless");
    await rm(layout.directory, { recursive: true });
    await end();
    await assertNothingIsLeft("folderless");
  }
});

test("the slot of a creator that was killed before it created anything is free after the next start", async () => {
  await takeSlot("ghost", await machineState());
  assert.equal((await slotsOf("ghost")).length, 1);
  await (await bare()).down();
  await assertNothingIsLeft("ghost");
});

test("a foreign interface with the cluster's interface name is neither used nor removed", async () => {
  const first = await bare();
  await first.down();
  const theirs = first.layout.machineInterface;
  await command("ip", ["link", "add", theirs, "type", "veth", "peer", "name", "deckhand99999"]);
  try {
    const second = await bare();
    assert.notEqual(second.layout.machineInterface, theirs);
    await second.down();
    assert.match(await command("ip", ["link", "show", theirs]), /deckhand99999/);
  } finally {
    await command("ip", ["link", "del", theirs]);
  }
});
