import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { hostInspectorContract } from "../../../test/contract/host-inspector-contract.ts";
import { hostClock } from "../host/clock.ts";
import { takeProcessLock } from "../host/process-lock.ts";
import { KERNEL_FILE_BYTES_MAX } from "../limits.ts";
import { createHostInspector } from "./host-inspector.ts";
import { parseListeners } from "./sockets.ts";

const scratch = mkdtempSync(join(tmpdir(), "deckhand-inspector-"));
let server: Server;
let port = 0;
before(async () => {
  mkdirSync(join(scratch, "directory"));
  writeFileSync(join(scratch, "directory/a"), "text");
  server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as { readonly port: number }).port;
});
after(() => {
  server.close();
  rmSync(scratch, { recursive: true });
});

hostInspectorContract("this host", async () => ({
  inspector: createHostInspector(),
  directory: join(scratch, "directory"),
  port,
  program: "flock",
}));

let trees = 0;

/** A recorded host: files by path. */
function tree(files: Readonly<Record<string, string>>) {
  trees += 1;
  const root = join(scratch, `tree-${trees}`);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return createHostInspector({ root });
}

test("cgroupTree reports version 2, its controllers, and whether the mount is read-only", async () => {
  const mounts = (options: string) => `cgroup2 /sys/fs/cgroup cgroup2 ${options},nosuid 0 0\n`;
  const controllers = { "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu memory\n" };
  const found = { version: 2, controllers: ["cpuset", "cpu", "memory"] };
  const writable = tree({ "/proc/self/mounts": mounts("rw"), ...controllers });
  assert.deepEqual(await writable.cgroupTree(), { ...found, readOnly: false });
  const readOnly = tree({ "/proc/self/mounts": mounts("ro"), ...controllers });
  assert.deepEqual(await readOnly.cgroupTree(), { ...found, readOnly: true });
  assert.equal(await tree({ "/proc/self/mounts": "proc /proc proc rw 0 0\n" }).cgroupTree(), undefined);
  await assert.rejects(tree({}).cgroupTree(), /ENOENT/, "what cannot be read is not what is not there");
});

test("cgroupTree lists joined and single controllers of version 1", async () => {
  const line = (name: string) => `cgroup /sys/fs/cgroup/${name} cgroup rw,relatime,${name} 0 0\n`;
  const inspector = tree({ "/proc/self/mounts": line("cpu,cpuacct") + line("memory") });
  const found = await inspector.cgroupTree();
  assert.deepEqual(
    [found?.version, ["cpu", "cpuacct", "memory", "pids"].map((name) => found?.controllers.includes(name))],
    [1, [true, true, true, false]],
  );
});

test("swap devices, systemd as init, and known filesystems are read from their files", async () => {
  const swaps =
    "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/vda2                               partition\t1048572\t\t0\t\t-2\n";
  const inspector = tree({
    "/proc/swaps": swaps,
    "/run/systemd/system/x": "",
    "/proc/filesystems": "nodev\tproc\n\text4\n",
  });
  assert.deepEqual(await inspector.swapDevices(), ["/dev/vda2"]);
  assert.equal(await inspector.isRunBySystemd(), true);
  assert.equal(await tree({ "/proc/swaps": "Filename\n" }).isRunBySystemd(), false);
  assert.deepEqual(await inspector.fileSystems(), ["proc", "ext4"]);
});

test("text() reads a file below the limit and rejects a longer one", async () => {
  const text = "x".repeat(KERNEL_FILE_BYTES_MAX - 1);
  const inspector = tree({ "/short": text, "/long": `${text}xx` });
  assert.equal((await inspector.text("/short")).length, text.length);
  await assert.rejects(inspector.text("/long"), new RegExp(`/long is longer than ${KERNEL_FILE_BYTES_MAX} bytes$`));
});

test("parseListeners reads listening IPv4 and IPv6 addresses from /proc/net/tcp", () => {
  const line = (local: string, state: string, inode: number) =>
    `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0 100 0 0 10 0\n`;
  assert.deepEqual(
    parseListeners(`  sl  local_address\n${line("0100007F:280A", "0A", 7)}${line("0100007F:280A", "01", 8)}`),
    [{ address: "127.0.0.1", port: 10_250, inode: "7" }],
  );
  const v6 = [
    "00000000000000000000000000000000",
    "00000000000000000000000001000000",
    "B80D0120000000000000000001000000",
  ];
  assert.deepEqual(
    parseListeners(v6.map((hex) => line(`${hex}:0050`, "0A", 1)).join("")).map(({ address }) => address),
    ["::", "::1", "2001:db8::1"],
  );
});

test("a flock holder counts as an agent only if its arguments name the agent's lock file", async () => {
  const lockFile = "/var/lib/kubelet/deckhand/lock";
  const seen = async (args: readonly string[]) => {
    const processes = { "/proc/10/cmdline": "agent\0", "/proc/20/cmdline": `${args.join("\0")}\0` };
    const inspector = tree({ [lockFile]: "", ...processes, "/proc/20/stat": "20 (flock) S 10 20 20 0" });
    const root = join(scratch, `tree-${trees}`);
    mkdirSync(join(root, "/proc/self/ns"), { recursive: true });
    symlinkSync("net:[1]", join(root, "/proc/self/ns/net"));
    const { ino } = statSync(join(root, lockFile));
    writeFileSync(join(root, "/proc/locks"), `1: FLOCK  ADVISORY  WRITE 20 08:01:${ino} 0 EOF\n`);
    return inspector.agents(lockFile);
  };
  assert.deepEqual(await seen(["flock", "/var/lib/dpkg/lock", "sleep", "9"]), []);
  assert.deepEqual(await seen(["flock", "-n", lockFile, "sh"]), [{ pid: 10, command: "agent", isDeckhand: true }]);
});

test("agents() finds a kubelet by its command line, and the lock's holder as Deckhand", async () => {
  // A program of that name that does nothing.
  const kubelet = join(scratch, "kubelet");
  symlinkSync("/bin/sleep", kubelet);
  const child: ChildProcess = spawn(kubelet, ["600"], { stdio: "ignore" });
  await once(child, "spawn");
  const lockFile = join(scratch, "lock");
  const lock = await takeProcessLock(lockFile, hostClock, new AbortController().signal);
  try {
    const agents = await createHostInspector().agents(lockFile);
    assert.deepEqual(
      agents.filter(({ pid }) => pid === child.pid),
      [{ pid: child.pid, command: `${kubelet} 600`, isDeckhand: false }],
    );
    assert.deepEqual(
      agents.filter(({ pid }) => pid === process.pid).map(({ isDeckhand }) => isDeckhand),
      [true],
    );
  } finally {
    lock.release();
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});
