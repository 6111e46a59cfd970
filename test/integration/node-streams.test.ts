/**
 * Exec, attach, cp, port-forward, run and checkpoint as users run them: kubectl, the API server, a Deckhand node and
 * containerd, with both of kubectl's protocols (WebSocket and SPDY).
 */

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { ClusterNode } from "../cluster/cluster.ts";
import { command } from "../cluster/command.ts";
import { AGNHOST_IMAGE, BUSYBOX_IMAGE } from "../cluster/images.ts";
import { waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { wholeSize } from "../size.ts";
import { askRoute } from "../support/ask-route.ts";
import { STAY } from "../support/cluster-pods.ts";
import { webSocket } from "../support/websocket-client.ts";
import { type Answer, running, type StreamsWorld, streamsWorld, WAYS, type Way } from "./node-streams/world.ts";

let world: StreamsWorld;

before(async () => {
  world = await streamsWorld();
  await world.cluster.kubectl("create", "namespace", "by-go");
  const sleeper = {
    name: "app",
    image: BUSYBOX_IMAGE,
    command: ["sh", "-c", STAY],
  };
  const pods = [
    pod("web", sleeper),
    pod("echo", { name: "app", image: BUSYBOX_IMAGE, command: ["cat"], stdin: true }),
    pod("serve", { name: "app", image: AGNHOST_IMAGE, args: ["netexec"] }),
    pod("web", sleeper, "by-go", world.goNode.name),
  ];
  const file = join(world.directory, "pods.json");
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: pods }));
  await world.cluster.kubectl("apply", "-f", file);
  await world.cluster.kubectl("wait", "--for=condition=Ready", "pod/web", "pod/echo", "pod/serve", "--timeout=90s");
  await world.cluster.kubectl("wait", "-n", "by-go", "--for=condition=Ready", "pod/web", "--timeout=90s");
});

after(() => world.end());

const pod = (name: string, container: object, namespace = "default", nodeName = world.node.name) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace },
  spec: { nodeName, containers: [container], terminationGracePeriodSeconds: 1 },
});

const exec = (way: Way, args: readonly string[], input?: string | Uint8Array) =>
  world.kubectl(way, ["exec", ...args], input === undefined ? {} : { input });

/** The number of processes in the pod with this text on their command line. */
async function processes(words: string): Promise<number> {
  const { stdout } = await exec(WAYS[1], ["web", "--", "sh", "-c", `ps | grep -v grep | grep -c '${words}'`]);
  return Number(stdout);
}

const PORT_FORWARD = {
  Connection: "Upgrade",
  Upgrade: "SPDY/3.1",
  "X-Stream-Protocol-Version": "portforward.k8s.io",
};

void suite("streams of a node", () => {
  for (const way of WAYS) {
    test(`[20.7][20.8][20.9] kubectl exec by ${way.name} passes exit codes and input, and separates stderr from stdout`, async () => {
      const { code, stdout, stderr } = await exec(way, ["web", "--", "sh", "-c", "echo out; echo err >&2; exit 3"]);
      assert.deepEqual([code, stdout], [3, "out\n"]);
      assert.match(stderr, /^err\ncommand terminated with exit code 3\n$/);
      const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 256));
      const counted = await exec(way, ["-i", "web", "--", "md5sum"], bytes);
      assert.equal(counted.stdout.slice(0, 32), createHash("md5").update(bytes).digest("hex"), counted.stderr);
      const missing = await exec(way, ["web", "--", "/no/such/command"]);
      assert.notEqual(missing.code, 0);
      assert.match(missing.stderr, /no such file or directory/);
      const ended = async () => (await world.ended()).filter(({ verb }) => verb === "exec").slice(-3);
      await waitUntil("the word of all three", 10_000, async () => (await ended()).length === 3);
      for (const { carried } of await ended()) assert.equal(carried, way.carried);
    });

    test(`1 MB of output right before the exit is complete, by ${way.name}`, async () => {
      for (let count = 0; count < (wholeSize() ? 50 : 3); count += 1) {
        const { stdout, code } = await exec(way, ["web", "--", "sh", "-c", "head -c 1048576 /dev/zero | tr '\\0' x"]);
        assert.deepEqual([stdout.length, code], [1_048_576, 0]);
      }
    });

    test(`[20.7] kubectl exec -it by ${way.name} has a terminal of the user's size, and follows its changes`, async () => {
      const tty = join(world.directory, `tty-${way.name}`);
      const loop = "while sleep 0.2; do stty size; done";
      const line = [...world.cluster.kubectlCommand, "exec", "-it", "web", "--", "sh", "-c", `'${loop}'`].join(" ");
      const shell = `tty > ${tty}; stty cols 111 rows 33; exec ${line}`;
      const session = running("script", ["-qec", shell, "/dev/null"], { ...way.env, SHELL: "/bin/sh" });
      await waitUntil("the first size", 30_000, async () => session.output().includes("33 111"));
      await command("stty", ["-F", (await readFile(tty, "utf8")).trim(), "cols", "77", "rows", "22"]);
      await waitUntil("the new size", 30_000, async () => session.output().includes("22 77"));
      session.child.stdin?.write("\u0003");
      assert.equal(await session.code, 130, session.output());
    });

    test(`[20.7] kubectl attach by ${way.name} reaches the container's first process`, async () => {
      const session = world.start(way, ["attach", "-i", "echo"]);
      const word = `hello by ${way.name}`;
      // Input that is sent before the attachment is established arrives once it is.
      session.child.stdin?.write(`${word}\n`);
      await waitUntil("its echo", 30_000, async () => session.output().includes(word));
      session.child.kill("SIGKILL");
      await session.code;
      await waitUntil("the end of it", 30_000, async () =>
        (await world.ended()).some(({ verb, carried }) => verb === "attach" && carried === way.carried),
      );
      assert.equal(
        (await world.cluster.kubectl("get", "pod", "echo", "-o", "jsonpath={.status.phase}")).trim(),
        "Running",
      );
    });

    test(`[20.7] kubectl cp by ${way.name} copies identical bytes in both directions`, async () => {
      const bytes = wholeSize() ? 200 * 2 ** 20 : 4 * 2 ** 20;
      const [here, back] = [join(world.directory, `here-${way.name}`), join(world.directory, `back-${way.name}`)];
      await writeFile(here, randomBytes(bytes));
      const started = process.hrtime.bigint();
      for (const [from, to] of [
        [here, "web:/tmp/there"],
        ["web:/tmp/there", back],
      ] as const) {
        const { code, stderr } = await world.kubectl(way, ["cp", from, to, "--retries=0"], { limitMs: 600_000 });
        assert.equal(code, 0, stderr);
      }
      figure(`cp both ways by ${way.name}`, (2 * bytes) / (Number(process.hrtime.bigint() - started) / 1e3), "MB/s");
      assert.equal((await stat(back)).size, bytes);
      assert.equal(await digest(back), await digest(here));
    });

    test(`[20.7] kubectl port-forward by ${way.name} carries 100 connections at once`, async () => {
      const forward = world.start(way, ["port-forward", "pod/serve", ":8080", "--address=127.0.0.1"]);
      await waitUntil("its port", 30_000, async () => /Forwarding from 127.0.0.1:\d+/.test(forward.output()));
      const port = Number(/127.0.0.1:(\d+)/.exec(forward.output())?.[1]);
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => askRoute({ port }, "GET", `/echo?msg=number-${index}`)),
      );
      assert.deepEqual(
        answers.map(({ body }) => body),
        Array.from({ length: 100 }, (_, index) => `number-${index}`),
      );
      await dropOneOfMany(port);
      forward.child.kill("SIGTERM");
      await forward.code;
      const carried = way.name === "SPDY" ? "piped" : "tunnelled";
      await waitUntil("the end of it", 30_000, async () =>
        (await world.ended()).some((one) => one.verb === "portForward" && one.carried === carried),
      );
    });

    test(`a killed client leaves no process and no stream behind, by ${way.name}`, async () => {
      const mark = `cat /dev/stdin ${way.name}`;
      const before = (await world.ended()).length;
      const session = world.start(way, ["exec", "-i", "web", "--", "sh", "-c", `cat /dev/stdin; : ${mark}`]);
      await waitUntil("the command", 30_000, async () => (await processes(mark)) > 0);
      session.child.kill("SIGKILL");
      await session.code;
      await waitUntil("its end", 30_000, async () => (await processes(mark)) === 0);
      const reported = (await world.ended()).slice(before);
      assert.ok(
        reported.some(({ reason, carried }) => reason === "client" && carried === way.carried),
        JSON.stringify(reported),
      );
    });
  }

  test("[20.7][20.10][20.14] every answer has the status, the type and the text of the Go kubelet's", async () => {
    const upgrade = { Connection: "Upgrade", Upgrade: "SPDY/3.1", "X-Stream-Protocol-Version": "v4.channel.k8s.io" };
    const opening = (protocol: string) => ({ Connection: "Upgrade", ...webSocket(protocol) });
    const portForward = { ...PORT_FORWARD, "X-Stream-Protocol-Version": "no such protocol" };
    const questions: readonly (readonly [string, string, Readonly<Record<string, string>>?])[] = [
      ["POST", "/exec/NS/none/app?output=1"],
      ["POST", "/exec/NS/web/none?output=1"],
      ["POST", "/exec/NS/web/no-such-uid/app?output=1"],
      ["GET", "/exec/NS/web/app"],
      ["GET", "/exec/NS/web/app?tty=1&error=1"],
      ["GET", "/exec/NS/web/app?output=1"],
      ["PUT", "/exec/NS/web/app?output=1"],
      ["POST", "/exec/NS/web"],
      ["POST", "/exec/NS/none/app?output=1", upgrade],
      ["POST", "/exec/NS/web/none?output=1", upgrade],
      ["POST", "/exec/NS/web/app?command=true&output=1", upgrade],
      ["POST", "/exec/NS/web/app?command=true&output=1", { ...upgrade, "X-Stream-Protocol-Version": "v0" }],
      ["POST", "/attach/NS/none/app?output=1"],
      ["POST", "/attach/NS/web/none?output=1"],
      ["POST", "/attach/NS/web/app"],
      ["POST", "/attach/NS/web/no-such-uid/app?output=1"],
      ["POST", "/attach/NS/web/app?output=1"],
      ["POST", "/portForward/NS/none", upgrade],
      ["POST", "/portForward/NS/web/no-such-uid", upgrade],
      ["POST", "/portForward/NS/web", portForward],
      ["POST", "/portForward/NS/web"],
      ["GET", "/portForward/NS/web", opening("v4.channel.k8s.io")],
      ["GET", "/portForward/NS/web?port=0", opening("v4.channel.k8s.io")],
      ["GET", "/portForward/NS/web?port=x", opening("v4.channel.k8s.io")],
      ["GET", "/portForward/NS/web?port=80,65536", opening("v4.channel.k8s.io")],
      ["GET", "/portForward/NS/web?port=80", opening("v4.channel.k8s.io")],
      ["GET", "/portForward/NS/web", opening("SPDY/3.1+portforward.k8s.io")],
      ["GET", "/portForward/NS/web", opening("SPDY/3.1+none.k8s.io")],
      ["GET", "/exec/NS/web/app?command=true&output=1", opening("v5.channel.k8s.io")],
      ["GET", "/exec/NS/web/app?command=true&output=1", opening("v4.channel.k8s.io")],
      ["GET", "/exec/NS/web/app?command=true&output=1", opening("base64.channel.k8s.io")],
      ["GET", "/exec/NS/web/app?command=true&output=1", opening("v9.channel.k8s.io")],
      ["GET", "/attach/NS/web/app?output=1", opening("v5.channel.k8s.io")],
      ["POST", "/run/NS/none/app?cmd=true"],
      ["POST", "/run/NS/web/none?cmd=true"],
      ["POST", "/run/NS/web/app?cmd=echo%20a"],
      ["POST", "/run/NS/web/app?cmd=true"],
      ["POST", "/run/NS/web/app?cmd=ls%20/none"],
      ["GET", "/run/NS/web/app?cmd=true"],
      ["POST", "/checkpoint/NS/none/app"],
      ["POST", "/checkpoint/NS/web/none"],
      ["POST", "/checkpoint/NS/web/app?timeout=x"],
      ["POST", "/checkpoint/NS/web/app?timeout=-1"],
      ["GET", "/checkpoint/NS/web/app"],
    ];
    // An empty body has no type.
    const neutral = (namespace: string, { status, type, body }: Answer) =>
      [status, body && type, body.replaceAll(namespace, "NS").replaceAll(/[0-9a-f]{32,}/g, "ID")] as const;
    const differences: object[] = [];
    for (const [method, path, headers = {}] of questions) {
      const of = async (node: ClusterNode, namespace: string) =>
        neutral(namespace, await world.ask(node, { method, path: path.replace("NS", namespace), headers }));
      const [ours, theirs] = [await of(world.node, "default"), await of(world.goNode, "by-go")];
      if (!isDeepStrictEqual(ours, theirs)) differences.push({ asked: `${method} ${path}`, headers, ours, theirs });
    }
    assert.deepEqual(differences, []);
  });

  test("[20.10] run returns plain output, and the output of a command that failed", async () => {
    const raw = (cmd: string) =>
      world.kubectl(WAYS[0], [
        "create",
        "--raw",
        `/api/v1/nodes/${world.node.name}/proxy/run/default/web/app?cmd=${encodeURIComponent(cmd)}`,
        "-f",
        "/dev/null",
      ]);
    assert.equal((await raw("echo hello there")).stdout, "hello there\n");
    const failed = await raw("ls /none");
    assert.match(failed.stderr, /command 'ls \/none' exited with 1: ls: \/none: No such file or directory/);
  });

  test("[20.14][27.1.30] a checkpoint without CRIU fails with containerd's message, and the checkpoint directory is private", async () => {
    const path = `/api/v1/nodes/${world.node.name}/proxy/checkpoint/default/web/app?timeout=5`;
    const { stderr } = await world.kubectl(WAYS[0], ["create", "--raw", path, "-f", "/dev/null"]);
    assert.match(stderr, /checkpointing of default\/web\/app failed \(rpc error: code = /);
    assert.match(stderr, /criu/i);
    const directory = world.node.inside("/var/lib/kubelet/checkpoints");
    assert.equal((await stat(directory)).mode & 0o777, 0o700);
    assert.deepEqual(await readdir(directory), []);
  });

  test("[3.18] the node declares the feature ExtendWebSocketsToKubelet", async () => {
    const features = await world.cluster.kubectl(
      "get",
      "node",
      world.node.name,
      "-o",
      "jsonpath={.status.declaredFeatures}",
    );
    assert.ok((JSON.parse(features) as readonly string[]).includes("ExtendWebSocketsToKubelet"), features);
  });

  test("a stream whose runtime dies fails for the user, never with exit code 0, and the next command runs", async () => {
    const session = world.start(WAYS[0], ["exec", "web", "--", "sh", "-c", "while :; do echo tick; sleep 0.1; done"]);
    await waitUntil("the first word", 30_000, async () => session.output().includes("tick"));
    const containerd = world.cluster.component(`containerd@${world.node.name}`);
    await containerd.kill();
    assert.notEqual(await session.code, 0);
    assert.match(session.output(), /connection to the runtime was lost/);
    await containerd.restart();
    await waitUntil("a command", 60_000, async () => (await exec(WAYS[0], ["web", "--", "true"])).code === 0);
  });

  test("a deleted pod ends the streams into it, and kubectl exits with 137", async () => {
    const sessions = WAYS.map((way) =>
      world.start(way, ["exec", "echo", "--", "sh", "-c", "echo ready; while :; do sleep 0.1; done"]),
    );
    for (const { output } of sessions) await waitUntil("the command", 30_000, async () => output().includes("ready"));
    await world.cluster.kubectl("delete", "pod", "echo", "--timeout=60s");
    for (const { code } of sessions) assert.equal(await code, 137);
  });

  test("streams that are opened and dropped leave no descriptor and no open stream behind", async () => {
    const agent = world.cluster.component(`kubelet@${world.node.name}`);
    const descriptors = async () => (await readdir(`/proc/${agent.pid}/fd`)).length;
    const before = await descriptors();
    const reported = (await world.ended()).length;
    const cycles = wholeSize() ? 10_000 : 200;
    const question = { method: "POST", path: "/portForward/default/web", headers: PORT_FORWARD };
    const drop = async () => {
      for (let count = 0; count < cycles / 8; count += 1) {
        assert.equal((await world.ask(world.node, question)).status, 101);
      }
    };
    await Promise.all(Array.from({ length: 8 }, drop));
    await waitUntil("the end of each", 60_000, async () => (await world.ended()).length === reported + cycles);
    await waitUntil("its descriptors", 30_000, async () => (await descriptors()) <= before + 5);
  });

  test("[20.17] with debugging handlers disabled streams get the Go kubelet's message, and open ones are closed", async () => {
    const { configuration } = world;
    const reported = (await world.ended()).length;
    const session = world.start(WAYS[0], ["exec", "web", "--", "sh", "-c", "echo ready; while :; do sleep 0.1; done"]);
    await waitUntil("the command", 30_000, async () => session.output().includes("ready"));
    // The kernel probes a silent client with TCP keep-alives.
    const connections = async () => (await world.node.run("ss", "-tnoH", "sport", "=", ":10250")).stdout;
    await waitUntil("the keep-alive", 10_000, async () => (await connections()).includes("timer:(keepalive,"));
    await world.cluster.changeAgent(world.node.name, "deckhand", {
      configuration: { ...configuration, enableDebuggingHandlers: false },
    });
    assert.notEqual(await session.code, 0);
    const ended = (await world.ended()).slice(reported);
    assert.deepEqual(ended, [{ verb: "exec", carried: "translated", reason: "shutdown" }]);
    const closed = async () =>
      (await exec(WAYS[1], ["web", "--", "true"])).stderr.includes("Debug endpoints are disabled.");
    await waitUntil("the answer of the new agent", 60_000, closed);
    for (const way of WAYS) assert.notEqual((await exec(way, ["web", "--", "true"])).code, 0);
  });
});

async function digest(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** Twenty connections wait in the middle of their request and one of them breaks; the others get their answers. */
async function dropOneOfMany(port: number): Promise<void> {
  const sockets = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      socket.write("GET /echo?msg=whole HTTP/1.1\r\nHost: pod\r\nConnection: close\r\n");
      return socket;
    }),
  );
  sockets[7]?.resetAndDestroy();
  const rest = sockets.filter((_, index) => index !== 7);
  const answers = await Promise.all(
    rest.map(async (socket) => {
      socket.write("\r\n");
      const parts: Buffer[] = [];
      for await (const part of socket) parts.push(part as Buffer);
      return Buffer.concat(parts).toString("utf8");
    }),
  );
  assert.equal(answers.filter((answer) => answer.endsWith("whole")).length, 19);
}
