/**
 * A Deckhand node and a Go kubelet node with pods for exec, attach and port-forward. Runs kubectl as a user does: with
 * input, a terminal, and over WebSocket or SPDY.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type RequestOptions, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cluster, type ClusterNode, startCluster } from "../../cluster/cluster.ts";
import { type CommandOptions, type CommandResult, command, tryCommand } from "../../cluster/command.ts";

/** The two protocols over which kubectl can open a stream. */
export const WAYS = [
  { name: "WebSocket", carried: "translated", env: flags("true") },
  { name: "SPDY", carried: "piped", env: flags("false") },
] as const;
export type Way = (typeof WAYS)[number];

function flags(value: string) {
  return { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: value, KUBECTL_PORT_FORWARD_WEBSOCKETS: value };
}

export interface StreamsWorld {
  readonly cluster: Cluster;
  readonly node: ClusterNode;
  readonly goNode: ClusterNode;
  readonly directory: string;
  /** Configuration of the node's agent, in addition to the default. */
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Does not reject on a nonzero exit code. */
  kubectl(way: Way, args: readonly string[], options?: CommandOptions): Promise<CommandResult>;
  /** Runs until it is killed. */
  start(way: Way, args: readonly string[]): Running;
  /** Streams whose end the agent has logged, newest last. */
  ended(): Promise<readonly EndedStream[]>;
  /** Sends a request to a node's own API as cluster admin. */
  ask(node: ClusterNode, question: Question): Promise<Answer>;
  end(): Promise<void>;
}

export interface Question {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly body: string;
}

export interface EndedStream {
  readonly verb: string;
  readonly carried: string;
  readonly reason: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly code: Promise<number>;
}

export async function streamsWorld(): Promise<StreamsWorld> {
  const directory = await mkdtemp(join(tmpdir(), "deckhand-streams-"));
  const [tlsCertFile, tlsPrivateKeyFile] = [join(directory, "node.crt"), join(directory, "node.key")];
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", tlsPrivateKeyFile];
  await command("openssl", ["req", "-x509", ...newKey, "-out", tlsCertFile, "-subj", "/CN=node", "-days", "2"]);
  const configuration = { tlsCertFile, tlsPrivateKeyFile, logging: { verbosity: 2 } };
  const cluster = await startCluster({
    controlPlane: "full",
    nodes: [{ agent: "deckhand", options: { configuration } }, { agent: "go" }],
  });
  const [node, goNode] = cluster.nodes;
  assert.ok(node !== undefined && goNode !== undefined, "the cluster has two nodes");
  const { adminCertFile, adminKeyFile } = cluster.api;
  const [cert, key] = await Promise.all([adminCertFile, adminKeyFile].map((file) => readFile(file, "utf8")));
  const [file, ...first] = cluster.kubectlCommand;
  return {
    cluster,
    node,
    goNode,
    directory,
    configuration,
    kubectl: (way, args, options) =>
      tryCommand(file, [...first, ...args], { limitMs: 60_000, ...options, env: { ...way.env, ...options?.env } }),
    start: (way, args) => running(file, [...first, ...args], way.env),
    ended: async () => endedStreams(await readFile(cluster.component(`kubelet@${node.name}`).logFile, "utf8")),
    ask: ({ address: host }, { method, path, headers = {} }) =>
      ask({ host, port: 10_250, method, path, headers, cert, key, rejectUnauthorized: false, agent: false }),
    end: async () => {
      await cluster.down();
      await rm(directory, { recursive: true });
    },
  };
}

function ask(options: RequestOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(options, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        body += part;
      });
      response.on("end", () => resolve({ status: response.statusCode, type: response.headers["content-type"], body }));
    });
    call.on("upgrade", ({ statusCode: status }, socket) => {
      socket.destroy();
      resolve({ status, type: undefined, body: "" });
    });
    call.once("error", reject);
    call.end();
  });
}

export function running(file: string, args: readonly string[], env: Readonly<Record<string, string>>): Running {
  const child = spawn(file, args, { env: { ...process.env, ...env } });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
  }
  child.stdin.on("error", () => {});
  const code = new Promise<number>((resolve) => {
    child.on("close", (ended) => resolve(ended ?? 137));
  });
  return { child, output: () => output, code };
}

function endedStreams(log: string): readonly EndedStream[] {
  const lines = log.split("\n").filter((line) => line.includes("A stream ended"));
  const word = (line: string, name: string) => new RegExp(`"?${name}"?[=:]"?([A-Za-z]+)`).exec(line)?.[1] ?? "";
  return lines.map((line) => ({
    verb: word(line, "verb"),
    carried: word(line, "carried"),
    reason: word(line, "reason"),
  }));
}
