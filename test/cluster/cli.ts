/**
 * `npm run cluster -- <verb>`: manages a real cluster from the command line. The cluster outlives this command; `down`
 * ends it and verifies that nothing is left.
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

const USAGE = `Usage: npm run cluster -- <verb> [--name NAME]

Starts and stops a real cluster on this machine, in its own network namespaces and cgroups.

  up                           starts the cluster
     --agent deckhand|go|none  one node for each (default: one node with Deckhand)
     --control-plane full|api|none
                               api: etcd and kube-apiserver only (default full)
  down                         stops the cluster; fails with a list if anything is left
  forget                       like down, but ignores what is left
  status                       lists the components and their addresses
  list                         lists all clusters
  kubectl ARGUMENT...          runs kubectl as administrator
  kill COMPONENT...            kills components; also pause, resume and restart
  run NODE COMMAND...          runs a command in the namespaces of a node
  build                        only builds the parts

  --name NAME                  name of the cluster (default: DECKHAND_CLUSTER, or dev)

Exit codes: 0 ok, 1 failed, 2 usage error.
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
    case "help":
    case "--help":
    case "-h":
      process.stdout.write(USAGE);
      return 0;
    default:
      process.stderr.write(USAGE);
      return 2;
  }
}

/**
 * `--name` may precede the verb or follow it anywhere, except after verbs that pass their arguments on (kubectl, run).
 */
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
  const agents = (values.agent ?? ["deckhand"]).flatMap((list) => list.split(","));
  const unknown = agents.find((agent) => !AGENTS.includes(agent as Agent));
  const controlPlane = values["control-plane"];
  if (unknown !== undefined || (controlPlane !== "full" && controlPlane !== "api" && controlPlane !== "none")) {
    process.stderr.write(USAGE);
    return 2;
  }
  await buildParts(say); // A build may be interrupted at any moment; signals are caught only afterwards.
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

/** Runs a command with this process's own terminal, so that `exec -it` and pipes work. */
function foreground(file: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: "inherit" });
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

// A reader that stops reading (`| head`) is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
