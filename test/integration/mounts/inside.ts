import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { test } from "node:test";
import { POOL_LIMITS } from "../../../src/wire/mounts/helper-pool.ts";
import { startHelper } from "../../../src/wire/mounts/helper-process.ts";
import { layOver, makeKernelSettings, takeAway } from "../../cluster/own-kernel.ts";
import { pause, waitUntil } from "../../cluster/wait.ts";
import { signal, toolsOf } from "../../contract/mounts/mounts-world.ts";
import { mountsContract } from "../../contract/mounts-contract.ts";
import { HELPER, helpers, inWorld, outcome, realWorld } from "./real-world.ts";

mountsContract("the kernel", async () => realWorld());

test("a helper that the kernel holds is left behind, its volume is refused at once, and it goes when the server does", () =>
  inWorld(
    async (world) => {
      const { mounts, at, files } = toolsOf(world);
      await files.makeFolder(at("dead"), 0o755);
      await world.plantDead(at("dead"), "deaf");
      assert.equal(await outcome(mounts.kindOf(at("dead"), signal)), "unresponsive");
      await pause(POOL_LIMITS.dyingMs + 200);
      const beginMs = performance.now();
      assert.equal(await outcome(mounts.kindOf(at("dead"), signal)), "unresponsive");
      assert.ok(performance.now() - beginMs < 100);
      assert.equal(helpers().length, 1);
      world.bury();
      // The server's end is an answer too: nobody is connected.
      await waitUntil("an answer", 10_000, async () => (await outcome(mounts.kindOf(at("dead"), signal))) === "other");
      await waitUntil("the helpers' end", 10_000, async () => helpers().length === 0);
    },
    { limits: { ...POOL_LIMITS, idleMs: 50 } },
  ));

test("a helper ends with its input, which closes when the agent dies, and after a while without work", async () => {
  const helper = startHelper(HELPER);
  const reply = await helper.run({ kind: "kindOf", path: "/proc" }, () => {});
  assert.deepEqual(reply, { kind: "done", value: "folder" });
  helper.end();
  await helper.ended;
  await inWorld(
    async ({ mounts }) => {
      assert.equal(await mounts.kindOf("/proc", signal), "folder");
      assert.equal(helpers().length, 1);
      await waitUntil("the helper's end", 10_000, async () => helpers().length === 0);
    },
    { limits: { ...POOL_LIMITS, idleMs: 200 } },
  );
});

test("[13.15][27.1.1] the agent's root is a shared mount from its start, with its own mode, and stays when the agent ends", () =>
  inWorld(async (world) => {
    const { files, at, mountsAt } = toolsOf(world);
    await files.makeFolder(at("log"), 0o755);
    execFileSync("mount", ["--bind", at("log"), "/var/log"]);
    const flags = [
      "--root-dir",
      at("root"),
      "--cert-dir",
      at("pki"),
      "--enable-server=false",
      "--healthz-port=0",
      "--fail-cgroupv1=false",
      "--fail-swap-on=false",
    ];
    const [file, main] = [HELPER.file, HELPER.args[0] ?? ""];
    // In a network of its own, and in this mount namespace: its chains and its settings are not the machine's, and its mounts are looked for here.
    await makeKernelSettings(at("machine"));
    for (const line of layOver(at("machine"))) execFileSync("sh", ["-ec", line]);
    const line = ["--net", "--", file, main, "kubelet", ...flags, "--hostname-override=mounts"];
    const agent = spawn("unshare", line, { stdio: "ignore" });
    const ended = once(agent, "exit");
    try {
      await waitUntil("the agent's folders", 20_000, async () => existsSync(at("root/deckhand/lock")));
      assert.equal((await files.facts(at("root")))?.mode, 0o750);
    } finally {
      agent.kill("SIGTERM");
    }
    assert.deepEqual(await ended, [0, null]);
    const [mount, ...more] = await mountsAt("root");
    assert.match(String(mount?.propagation), /^shared:\d+$/);
    assert.deepEqual([more, helpers()], [[], []]);
    execFileSync("umount", ["/var/log"]);
    for (const each of takeAway()) execFileSync("sh", ["-ec", each]);
  }));

test("sockets and devices are told apart", () =>
  inWorld(async (world) => {
    const { mounts } = toolsOf(world);
    const device = await world.device();
    const kinds = await Promise.all(["/dev/null", device, "/proc/self/exe"].map((path) => mounts.kindOf(path, signal)));
    assert.deepEqual(kinds, ["charDevice", "blockDevice", "file"]);
  }));

test("[13.5] memory that must not be swapped out is mounted so", () =>
  inWorld(async (world) => {
    const { mounts, at, files, mountsAt } = toolsOf(world);
    await files.makeFolder(at("v"), 0o755);
    await mounts.mountMemory(at("v"), { sizeBytes: 1n << 20n, noSwap: true }, signal);
    const [mount] = await mountsAt("v");
    assert.ok(mount?.superOptions.includes("noswap"), String(mount?.superOptions));
  }));

test(
  "[13.5] huge pages are mounted with their size, where the kernel has them",
  { skip: !existsSync("/sys/kernel/mm/hugepages") },
  () =>
    inWorld(async (world) => {
      const { mounts, at, files, mountsAt } = toolsOf(world);
      await files.makeFolder(at("v"), 0o755);
      await mounts.mountHugepages(at("v"), "2Mi", signal);
      const [mount] = await mountsAt("v");
      assert.deepEqual([mount?.type, mount?.superOptions.includes("pagesize=2M")], ["hugetlbfs", true]);
    }),
);

test("an unmount of what is in use is busy, and a lazy one is not", () =>
  inWorld(async (world) => {
    const { mounts, at, files, write, mountsAt } = toolsOf(world);
    await files.makeFolder(at("v"), 0o755);
    await world.plant(at("v"));
    await write("v/file", "x");
    const fd = openSync(at("v/file"), "r");
    assert.equal(await outcome(mounts.unmount(at("v"), { lazy: false }, signal)), "busy");
    await mounts.unmount(at("v"), { lazy: true }, signal);
    closeSync(fd);
    assert.deepEqual(await mountsAt("v"), []);
  }));

test("a path through a link names the same mounts", () =>
  inWorld(async (world) => {
    const { mounts, at, files, mountsAt } = toolsOf(world);
    await files.makeFolder(at("real/v"), 0o755);
    await files.link("real", at("link"));
    for (let turn = 0; turn < 2; turn += 1) {
      await mounts.mountMemory(at("link/v"), { sizeBytes: undefined, noSwap: false }, signal);
    }
    assert.equal((await mountsAt("real/v")).length, 1);
    assert.equal(await outcome(mounts.removeTree(at("link/v"), signal)), "busy");
    await mounts.unmount(at("link/v"), { lazy: false }, signal);
    assert.deepEqual(await mountsAt("real/v"), []);
  }));
