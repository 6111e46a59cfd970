/**
 * `npm run cluster -- <verb>`: a real cluster by hand. It outlives this command; `down` ends it and proves that nothing is left.
 */
import { spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { openCluster, startCluster } from "./cluster.ts";
import { down, forget } from "./down.ts";
import { interrupted } from "./interrupted.ts";
import { AGENTS, type Agent } from "./node.ts";
import { buildParts } from "./parts.ts";
import { readRecord } from "./record.ts";
import { takenSlots } from "./slots.ts";

const USAGE = `npm run cluster -- <verb> [--name NAME]   (default name: dev, or DECKHAND_CLUSTER)

  up [--agent go|deckhand|none]...   one node for each --agent (default: one, go)
     [--control-plane full|api|none] api: etcd and kube-apiserver only
  down                               ends it; fails with a list if anything is left
  forget                             down, for when what is listed is not the cluster's
  status                             its components and addresses
  list                               all clusters
  kubectl ...                        kubectl as administrator
  kill | pause | resume | restart COMPONENT...
  run NODE COMMAND...                a command in a node's namespaces
  build                              only builds the parts
`;

const say = (line: string) => console.log(line);

async function main(argv: readonly string[]): Promise<number> {
  const { name, verb, rest } = split(argv);
  switch (verb) {
    case "up":
      return up(name, rest);
    case "down":
      await down(name);
      say(`${name} is down, nothing is left`);
      return 0;
    case "forget":
      await forget(name);
      say(`${name} is down and forgotten`);
      return 0;
    case "status":
      return status(name);
    case "list":
      return list();
    case "kubectl":
      return kubectl(name, rest);
    case "kill":
    case "pause":
    case "resume":
    case "restart":
      return signal(name, verb, rest);
    case "run":
      return run(name, rest);
    case "build":
      await buildParts(say);
      return 0;
    default:
      process.stderr.write(USAGE);
      return verb === undefined || verb === "help" ? 0 : 2;
  }
}

/** `--name` may stand before the verb or, but for verbs that hand their arguments on, anywhere after it. */
function split(argv: readonly string[]) {
  let name = process.env["DECKHAND_CLUSTER"] ?? "dev";
  const args = [...argv];
  const handsOn = (verb: string | undefined) => verb === "kubectl" || verb === "run";
  for (let index = 0; index < args.length; index += 1) {
    if (args[index] === "--name") {
      name = args.splice(index, 2)[1] ?? name;
      index -= 1;
    } else if (handsOn(args[index])) break;
  }
  const [verb, ...rest] = args;
  return { name, verb, rest };
}

async function up(name: string, args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { agent: { type: "string", multiple: true }, "control-plane": { type: "string", default: "full" } },
  });
  const agents = (values.agent ?? ["go"]).flatMap((list) => list.split(","));
  const unknown = agents.find((agent) => !AGENTS.includes(agent as Agent));
  const controlPlane = values["control-plane"];
  if (unknown !== undefined || (controlPlane !== "full" && controlPlane !== "api" && controlPlane !== "none")) {
    process.stderr.write(USAGE);
    return 2;
  }
  await buildParts(say); // A build may be ended at any moment, so before the signals are caught.
  const startedMs = performance.now();
  const nodes = agents.map((agent) => ({ agent: agent as Agent }));
  await startCluster({ name, controlPlane, nodes, report: say, signal: interrupted("up", say) });
  say(`${name} is up after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  return status(name);
}

async function list(): Promise<number> {
  for (const { name, slot } of await takenSlots()) {
    const record = await readRecord(name);
    say(`${name}\tslot ${slot}\t${record?.complete === true ? "up" : "unfinished"}`);
  }
  return 0;
}

async function status(name: string): Promise<number> {
  const cluster = await openCluster(name);
  let well = (await readRecord(name))?.complete === true;
  if (!well) say("UNFINISHED: its up has not ended, or was killed");
  say(
    `API server  ${cluster.api.url}\nkubeconfig  ${cluster.api.kubeconfig}\nregistries  ${cluster.registry.open} ${cluster.registry.guarded}`,
  );
  for (const node of cluster.nodes)
    say(`node ${node.name}     ${node.address} agent ${node.agent}, CRI ${node.criEndpoint}`);
  for (const component of cluster.components) {
    const alive = await component.isAlive();
    well &&= alive;
    say(`${alive ? "up  " : "DOWN"} ${component.name} (pid ${component.pid}, log ${component.logFile})`);
  }
  return well ? 0 : 1;
}

async function kubectl(name: string, args: readonly string[]): Promise<number> {
  const cluster = await openCluster(name);
  const parts = await buildParts();
  return foreground(parts.path("kubectl"), [`--kubeconfig=${cluster.api.kubeconfig}`, ...args]);
}

async function signal(
  name: string,
  verb: "kill" | "pause" | "resume" | "restart",
  names: readonly string[],
): Promise<number> {
  const cluster = await openCluster(name);
  for (const component of names.map((wanted) => cluster.component(wanted))) {
    await component[verb]();
    say(`${verb} ${component.name}: done (pid ${component.pid})`);
  }
  return 0;
}

async function run(name: string, [wanted, ...args]: readonly string[]): Promise<number> {
  const cluster = await openCluster(name);
  const node = cluster.nodes.find((candidate) => candidate.name === wanted);
  if (node === undefined || args.length === 0)
    throw new Error(`run NODE COMMAND...; nodes: ${cluster.nodes.map((n) => n.name).join(", ")}`);
  const held = cluster.component(`anchor@${node.name}`);
  return foreground("nsenter", ["-t", String(held.pid), "--net", "--mount", "--uts", "--", ...args]);
}

/** With our own terminal, so that `exec -it` and pipes work. */
function foreground(file: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: "inherit" });
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
