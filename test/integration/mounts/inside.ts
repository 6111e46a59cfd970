import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { test } from "node:test";
import { POOL_LIMITS } from "../../../src/wire/mounts/helper-pool.ts";
import { startHelper } from "../../../src/wire/mounts/helper-process.ts";
import { layOver, makeSysctls, umountCommands } from "../../cluster/own-kernel.ts";
import { pause, waitUntil } from "../../cluster/wait.ts";
import { signal, toolsOf } from "../../contract/mounts/mounts-world.ts";
import { mountsContract } from "../../contract/mounts-contract.ts";
import { HELPER, helpers, inWorld, outcome, realWorld } from "./real-world.ts";

mountsContract("the kernel", async () => realWorld());

test("a helper that hangs in the kernel is abandoned, calls on its volume fail at once, and it exits with the server", () =>
  inWorld(
    async (world) => {
      const { mounts, at, files } = toolsOf(world);
      await files.makeDirectory(at("dead"), 0o755);
      await world.plantDead(at("dead"), "deaf");
      assert.equal(await outcome(mounts.kindOf(at("dead"), signal)), "unresponsive");
      await pause(POOL_LIMITS.dyingMs + 200);
      const beginMs = performance.now();
      assert.equal(await outcome(mounts.kindOf(at("dead"), signal)), "unresponsive");
      assert.ok(performance.now() - beginMs < 100);
      assert.equal(helpers().length, 1);
      world.bury();
      // The server's end completes the call, too: nobody is connected.
      await waitUntil("an answer", 10_000, async () => (await outcome(mounts.kindOf(at("dead"), signal))) === "other");
      await waitUntil("the helpers' end", 10_000, async () => helpers().length === 0);
    },
    { limits: { ...POOL_LIMITS, idleMs: 50 } },
  ));

test("a helper exits when its input closes, as when the agent dies, and after an idle time", async () => {
  const helper = startHelper(HELPER);
  const reply = await helper.run({ kind: "kindOf", path: "/proc" }, () => {});
  assert.deepEqual(reply, { kind: "done", value: "directory" });
  helper.end();
  await helper.ended;
  await inWorld(
    async ({ mounts }) => {
      assert.equal(await mounts.kindOf("/proc", signal), "directory");
      assert.equal(helpers().length, 1);
      await waitUntil("the helper's end", 10_000, async () => helpers().length === 0);
    },
    { limits: { ...POOL_LIMITS, idleMs: 200 } },
  );
});

test("[13.15][27.1.1] the agent's root directory is a shared mount of mode 0750 from the start, and stays when the agent ends", () =>
  inWorld(async (world) => {
    const { files, at, mountsAt } = toolsOf(world);
    await files.makeDirectory(at("log"), 0o755);
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
    // In its own network namespace and in this mount namespace: the agent must not change the machine's chains and
    // settings, and the test reads the agent's mounts here.
    await makeSysctls(at("machine"));
    for (const line of layOver(at("machine"))) execFileSync("sh", ["-ec", line]);
    const line = ["--net", "--", file, main, "kubelet", ...flags, "--hostname-override=mounts"];
    const agent = spawn("unshare", line, { stdio: "ignore" });
    const ended = once(agent, "exit");
    try {
      await waitUntil("the agent's directories", 20_000, async () => existsSync(at("root/deckhand/lock")));
      assert.equal((await files.facts(at("root")))?.mode, 0o750);
    } finally {
      agent.kill("SIGTERM");
    }
    assert.deepEqual(await ended, [0, null]);
    const [mount, ...more] = await mountsAt("root");
    assert.match(String(mount?.propagation), /^shared:\d+$/);
    assert.deepEqual([more, helpers()], [[], []]);
    execFileSync("umount", ["/var/log"]);
    for (const each of umountCommands()) execFileSync("sh", ["-ec", each]);
  }));

test("kindOf distinguishes character devices, block devices and files", () =>
  inWorld(async (world) => {
    const { mounts } = toolsOf(world);
    const device = await world.device();
    const kinds = await Promise.all(["/dev/null", device, "/proc/self/exe"].map((path) => mounts.kindOf(path, signal)));
    assert.deepEqual(kinds, ["charDevice", "blockDevice", "file"]);
  }));

test("[13.5] mountMemory with noSwap mounts with the noswap option", () =>
  inWorld(async (world) => {
    const { mounts, at, files, mountsAt } = toolsOf(world);
    await files.makeDirectory(at("v"), 0o755);
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
      await files.makeDirectory(at("v"), 0o755);
      await mounts.mountHugepages(at("v"), "2Mi", signal);
      const [mount] = await mountsAt("v");
      assert.deepEqual([mount?.type, mount?.superOptions.includes("pagesize=2M")], ["hugetlbfs", true]);
    }),
);

test("unmounting a volume in use fails as busy, and a lazy unmount succeeds", () =>
  inWorld(async (world) => {
    const { mounts, at, files, write, mountsAt } = toolsOf(world);
    await files.makeDirectory(at("v"), 0o755);
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
    await files.makeDirectory(at("real/v"), 0o755);
    await files.link("real", at("link"));
    for (let turn = 0; turn < 2; turn += 1) {
      await mounts.mountMemory(at("link/v"), { sizeBytes: undefined, noSwap: false }, signal);
    }
    assert.equal((await mountsAt("real/v")).length, 1);
    assert.equal(await outcome(mounts.removeTree(at("link/v"), signal)), "busy");
    await mounts.unmount(at("link/v"), { lazy: false }, signal);
    assert.deepEqual(await mountsAt("real/v"), []);
  }));
