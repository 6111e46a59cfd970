/** Real containerd from the cluster harness, as the `RuntimeWorld` of the contract suites. */
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { assertNever } from "../../src/base/assert.ts";
import { type CriOptions, connectCri } from "../../src/wire/cri/client.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { exists } from "../cluster/cache.ts";
import { startCluster } from "../cluster/cluster.ts";
import { AGNHOST_IMAGE, BUSYBOX_IMAGE } from "../cluster/images.ts";
import { pause } from "../cluster/wait.ts";
import type { Program, RuntimeWorld } from "../contract/runtime-world.ts";

export interface ContainerdWorld extends RuntimeWorld {
  /** A client that requests its lists as streams. */
  readonly streaming: Pick<RuntimeWorld, "runtime" | "images">;
}

export async function containerdWorld(): Promise<ContainerdWorld> {
  const cluster = await startCluster({ controlPlane: "none", nodes: [{ agent: "none" }] });
  const [node] = cluster.nodes;
  if (node === undefined) throw new Error("the cluster has no node");
  const containerd = cluster.component(`containerd@${node.name}`);
  const malformed: string[] = [];
  const connect = (options: Pick<CriOptions, "requestLimitMs" | "streamLists">) =>
    connectCri({ ...options, endpoint: node.criEndpoint, onMalformed: (detail) => malformed.push(detail) }, hostClock);
  const client = connect({});
  const streaming = connect({ streamLists: true });
  const { open, guarded, username, password } = cluster.registry;
  const spare = AGNHOST_IMAGE.slice(AGNHOST_IMAGE.indexOf("/"));
  let made = 0;
  return {
    streaming,
    runtime: client.runtime,
    images: client.images,
    clock: hostClock,
    pass: pause,
    sandboxConfig: () => {
      made += 1;
      const name = `contract-${made}`;
      return {
        metadata: { name, namespace: "default", uid: `uid-${name}`, attempt: 0 },
        hostname: name,
        logDirectory: join(node.logsDir, name),
        cgroupParent: `${node.cgroupParent}/${name}`,
      };
    },
    command,
    image: BUSYBOX_IMAGE,
    otherHandler: "test-handler",
    registry: {
      open: `${open}${spare}`,
      guarded: `${guarded}${spare}`,
      credentials: { username, password },
      unreachable: "127.0.0.1:1/nobody/listens:1",
    },
    connect,
    readLog: (path) => readFile(path, "utf8"),
    renameLog: rename,
    memoryLimitBytes: async ({ cgroupParent = "" }, id) => {
      const v1 = join("/sys/fs/cgroup/memory", cgroupParent, id, "memory.limit_in_bytes");
      const v2 = join("/sys/fs/cgroup", cgroupParent, id, "memory.max");
      return BigInt(await readFile((await exists(v1)) ? v1 : v2, "utf8"));
    },
    kill: () => containerd.kill(),
    restart: () => containerd.restart(),
    pause: () => containerd.pause(),
    resume: () => containerd.resume(),
    end: async () => {
      client.close();
      streaming.close();
      await cluster.down();
      if (malformed.length > 0) throw new Error(`containerd answered what cannot be true: ${malformed.join("; ")}`);
    },
  };
}

/** A shell handles a signal only after its current child exits, so the endless programs sleep in short steps. */
function command(program: Program): readonly string[] {
  const shell = (script: string) => ["/bin/sh", "-c", script];
  const forever = "while :; do sleep 0.05; done";
  switch (program.kind) {
    case "untilTerm":
      return shell(`trap 'exit ${program.code}' TERM; ${forever}`);
    case "untilKill":
      return shell(`trap '' TERM; ${forever}`);
    case "untilUsr1":
      return shell(`trap '' TERM; trap 'exit 42' USR1; ${forever}`);
    case "exit":
      return shell(`exit ${program.code}`);
    case "exitAfter":
      return shell(`sleep ${program.delayMs / 1000}; exit ${program.code}`);
    case "killSelf":
      // A first process (PID 1) cannot kill itself; its only child can, and it exits with the child's status.
      return shell("sh -c 'kill -9 $$'; exit $?");
    case "print":
      return [
        "/bin/sh",
        "-c",
        'printf %s "$1"; printf %s "$2" >&2; exit "$3"',
        "sh",
        program.stdout,
        program.stderr,
        String(program.code),
      ];
    case "printAllBytes":
      return shell('i=0; while [ $i -lt 256 ]; do printf "\\\\$(printf %o $i)"; i=$((i+1)); done');
    case "printVariable":
      return shell(`printf %s "$${program.name}"`);
    case "tick":
      return shell("trap 'exit 0' TERM; while :; do echo tick; sleep 0.05; done");
    case "eatMemory":
      return shell("x=$(yes | head -c 200000000); echo ${#x}");
    case "missing":
      return ["/no/such/command"];
    default:
      return assertNever(program);
  }
}
