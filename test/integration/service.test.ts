/**
 * The agent as a service: which notifications its manager receives, from which process and when. A socket of the test
 * stands in for systemd's.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { after, afterEach, before, describe, test } from "node:test";
import { serviceManagerOf } from "../../src/wire/host/service-manager.ts";
import { scratch } from "../../tools/scratch.ts";
import { command } from "../cluster/command.ts";
import { behindOwnKernel, makeSysctls } from "../cluster/own-kernel.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { builtProgram } from "../support/built-program.ts";
import { listenForNotices, type NotifyListener } from "../support/notify-listener.ts";

const forever = new AbortController().signal;

/**
 * Gives the agent its own network, /var/log and kernel settings. The agent is the started process itself, so its PID is
 * known.
 */
const BOX = ["unshare", "--net", "--mount", "--propagation", "private", "--", "sh", "-ec"];
const ASK_HEALTH =
  'fetch("http://127.0.0.1:10248/healthz").then((it) => it.text()).then((it) => process.stdout.write(it))';
const PREPARE = 'ip link set lo up; mount -t tmpfs tmpfs /var/log; exec "$@"';

describe("a service manager", () => {
  const directory = scratch();
  let listener: NotifyListener;
  let executable: string;
  let agent: ChildProcess | undefined;
  let said = "";

  before(async () => {
    ({ executable } = await builtProgram());
    directory.write(
      "kubelet.json",
      JSON.stringify({
        apiVersion: "kubelet.config.k8s.io/v1beta1",
        kind: "KubeletConfiguration",
        // No runtime listens there: a node without its runtime is a node all the same.
        containerRuntimeEndpoint: `unix://${directory.path("nobody.sock")}`,
        authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
        authorization: { mode: "AlwaysAllow" },
        failCgroupV1: false,
        failSwapOn: false,
        podLogsDir: directory.path("logs"),
      }),
    );
    await makeSysctls(directory.path("machine"));
    listener = await listenForNotices(directory.root);
  });

  afterEach(async () => {
    if (agent?.exitCode === null && agent.signalCode === null) {
      agent.kill("SIGKILL");
      await once(agent, "exit");
    }
  });

  after(async () => {
    await listener.end();
    directory[Symbol.dispose]();
  });

  function start(
    environment: Readonly<Record<string, string>>,
    ...more: readonly string[]
  ): ChildProcess & { readonly pid: number } {
    const flags = [`--config=${directory.path("kubelet.json")}`, `--root-dir=${directory.path("lib")}`];
    const program = [executable, "kubelet", ...flags, `--cert-dir=${directory.path("pki")}`, ...more];
    const [file = "", ...args] = [...BOX, PREPARE, "sh", ...behindOwnKernel(directory.path("machine"), program)];
    const child = spawn(file, args, {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, NOTIFY_SOCKET: listener.socket, ...environment },
    });
    said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    agent = child;
    assert.ok(child.pid !== undefined);
    return Object.assign(child, { pid: child.pid });
  }

  const from = (pid: number) => listener.heard.filter((each) => each.pid === pid);
  const textsFrom = (pid: number) => from(pid).map(({ text }) => text);

  test("[1.18] receives notifications from the process itself, the only ones that it accepts", async () => {
    const manager = serviceManagerOf({ ...process.env, NOTIFY_SOCKET: listener.socket });
    assert.ok(manager !== undefined);
    for (const state of ["ready", "alive", "stopping"] as const) await manager.notify(state, forever);
    await waitUntil("three messages", 5_000, () => Promise.resolve(listener.heard.length >= 3));
    assert.deepEqual(textsFrom(process.pid), ["READY=1", "WATCHDOG=1", "STOPPING=1"]);
  });

  test("that cannot be reached makes notifications fail, and without NOTIFY_SOCKET there is none", async () => {
    const manager = serviceManagerOf({ ...process.env, NOTIFY_SOCKET: directory.path("nowhere") });
    await assert.rejects(manager?.notify("ready", forever) ?? Promise.resolve(), /Failed to notify init system/);
    assert.equal(serviceManagerOf({ NOTIFY_SOCKET: "" }), undefined);
    assert.equal(serviceManagerOf({}), undefined);
  });

  test("[1.18] [27.1.39] receives READY=1 once /healthz answers, WATCHDOG=1 at half of the watchdog's time, and STOPPING=1 at the end", async () => {
    const { pid } = start({ WATCHDOG_USEC: "2400000" });
    await waitUntil("the agent to be ready", 30_000, () => Promise.resolve(textsFrom(pid).includes("READY=1")));
    assert.equal(await command("nsenter", ["-t", String(pid), "-n", process.execPath, "-e", ASK_HEALTH]), "ok");
    const seen = from(pid).length;
    await waitUntil("four signs of life", 20_000, () => Promise.resolve(from(pid).length >= seen + 4));
    const lives = from(pid).filter(({ text }) => text === "WATCHDOG=1");
    const gapsMs = lives.slice(1).map(({ atMs }, index) => atMs - (lives[index]?.atMs ?? 0));
    // Due every 1.2 s; one that the machine's load delays does not delay the others.
    const meanMs = gapsMs.reduce((sum, ms) => sum + ms, 0) / gapsMs.length;
    assert.ok(meanMs > 800, gapsMs.join(", "));
    agent?.kill("SIGTERM");
    assert.deepEqual(await once(agent ?? assert.fail("no agent"), "exit"), [0, null], said);
    await waitUntil("the last message", 5_000, () => Promise.resolve(textsFrom(pid).at(-1) === "STOPPING=1"));
    assert.deepEqual(
      textsFrom(pid).filter((text) => text !== "WATCHDOG=1"),
      ["READY=1", "STOPPING=1"],
    );
  });

  test("[1.18] without a watchdog receives READY=1, and nothing more until STOPPING=1", async () => {
    const { pid } = start({ WATCHDOG_USEC: "2400000", WATCHDOG_PID: "1" });
    await waitUntil("the agent to be ready", 30_000, () => Promise.resolve(textsFrom(pid).length > 0));
    agent?.kill("SIGTERM");
    await once(agent ?? assert.fail("no agent"), "exit");
    assert.deepEqual(textsFrom(pid), ["READY=1", "STOPPING=1"]);
  });

  test("[1.11] receives READY=1 after the lock file is the agent's, its runtime was called and its health port answers, in this order", async () => {
    const lockFile = directory.path("agent.lock");
    const holder = spawn("flock", ["-F", lockFile, "sleep", "60"], { stdio: "ignore" });
    let calls = 0;
    await using runtime = createServer((socket) => {
      calls += 1;
      socket.destroy();
    });
    runtime.listen(directory.path("nobody.sock"));
    await once(runtime, "listening");
    try {
      await waitUntil("the lock to be held", 5_000, () => Promise.resolve(existsSync(lockFile)));
      const root = directory.path("lib-of-order");
      const { pid } = start({}, `--lock-file=${lockFile}`, `--root-dir=${root}`);
      await waitUntil("the agent to wait", 30_000, () => Promise.resolve(said.includes("Acquiring file lock")));
      await pause(1_000);
      await assert.rejects(command("nsenter", ["-t", String(pid), "-n", process.execPath, "-e", ASK_HEALTH]));
      assert.deepEqual([calls, existsSync(root), textsFrom(pid)], [0, false, []]);
      holder.kill();
      await waitUntil("the agent to be ready", 30_000, () => Promise.resolve(textsFrom(pid).includes("READY=1")));
      assert.equal(await command("nsenter", ["-t", String(pid), "-n", process.execPath, "-e", ASK_HEALTH]), "ok");
      assert.ok(calls > 0, "the runtime was not called");
      // Node.js raises its own limit; maxOpenFiles has no other effect.
      const limits = await readFile(`/proc/${pid}/limits`, "utf8");
      const [, soft, hard] = /^Max open files +(\d+) +(\d+)/m.exec(limits) ?? [];
      assert.equal(soft, hard);
    } finally {
      holder.kill();
    }
  });

  test("[1.25] receives READY=1 also when the healthz server cannot listen", async () => {
    const { pid } = start({}, "--healthz-bind-address=192.0.2.1");
    await waitUntil("the agent to be ready", 30_000, () => Promise.resolve(textsFrom(pid).includes("READY=1")));
    assert.match(said, /Failed to start healthz server.*192\.0\.2\.1:10248/);
  });

  test("[1.17] receives STOPPING=1 from an agent that loses its lock and exits with 1", async () => {
    const { pid } = start({});
    await waitUntil("the agent to be ready", 30_000, () => Promise.resolve(textsFrom(pid).includes("READY=1")));
    const holder = (await command("pgrep", ["-P", String(pid), "-x", "flock"])).trim();
    process.kill(Number(holder), "SIGKILL");
    assert.deepEqual(await once(agent ?? assert.fail("no agent"), "exit"), [1, null], said);
    assert.match(said, /Shutting down because another agent may take over this node; pods keep running/);
    assert.match(said, /the lock \S+deckhand\/lock is lost: who held it ended with SIGKILL/);
    await waitUntil("the last message", 5_000, () => Promise.resolve(textsFrom(pid).at(-1) === "STOPPING=1"));
  });

  test("[1.18] with a watchdog of one second or less makes the agent exit with 1 at its start", async () => {
    const { pid } = start({ WATCHDOG_USEC: "1000000" });
    assert.deepEqual(await once(agent ?? assert.fail("no agent"), "exit"), [1, null]);
    assert.match(said, /configure watchdog timeout too small: 1000ms/);
    assert.deepEqual(textsFrom(pid), []);
  });
});
