/**
 * What an agent does for its machine, beside the Go kubelet on a node of the same kind: the kernel's settings (copies of them: the machine's own are not
 * a test's), iptables chains in the nodes' own networks, its messages, and the lock by which agents hand over.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { coreEvents } from "../../src/api/resources.ts";
import { KERNEL_TUNABLES } from "../../src/domain/host/kernel-tunables.ts";
import { type Cluster, type ClusterNode, type Component, startCluster } from "../cluster/cluster.ts";
import { readKernelSettings } from "../cluster/kernel-settings.ts";
import { DECKHAND_MAIN } from "../cluster/node.ts";
import { behindOwnKernel, kernelSettingCopy } from "../cluster/own-kernel.ts";
import { buildParts } from "../cluster/parts.ts";
import { waitUntil } from "../cluster/wait.ts";

let cluster: Cluster;
let ours: ClusterNode;
let theirs: ClusterNode;
let agent: Component;
let goAgent: Component;
let goProgram: string;
let machineBefore: Readonly<Record<string, string>>;

before(async () => {
  machineBefore = await readKernelSettings();
  goProgram = (await buildParts()).path("kubelet");
  cluster = await startCluster({ controlPlane: "api", nodes: [{ agent: "deckhand" }, { agent: "go" }] });
  const [first, second] = cluster.nodes;
  ours = first ?? assert.fail("the cluster has a node");
  theirs = second ?? assert.fail("the cluster has two nodes");
  agent = cluster.component(`kubelet@${ours.name}`);
  goAgent = cluster.component(`kubelet@${theirs.name}`);
});

after(() => cluster.down());

const pathOf = (name: string) => name.replaceAll(".", "/") as Parameters<typeof kernelSettingCopy>[1];
const settingsOf = (node: ClusterNode) =>
  Promise.all(
    KERNEL_TUNABLES.map(async ({ name }) => [
      name,
      (await readFile(kernelSettingCopy(node.folder, pathOf(name)), "utf8")).trim(),
    ]),
  );
const logOf = (component: Component) => readFile(component.logFile, "utf8");

/** The chains that a kubelet makes and the rules that are in them or lead to them, as iptables prints them, with the family. */
async function chainsOf(node: ClusterNode): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const program of ["iptables-save", "ip6tables-save"]) {
    const { stdout, stderr, code } = await node.run(program);
    assert.equal(code, 0, stderr);
    let table = "";
    for (const line of stdout.split("\n")) {
      if (line.startsWith("*")) table = line.slice(1);
      const text = line.replace(/ \[\d+:\d+\]$/, "");
      if (/KUBE-(?:IPTABLES-HINT|KUBELET-CANARY|FIREWALL)/.test(text)) lines.push(`${program} ${table} ${text}`);
    }
  }
  return lines.toSorted();
}

/** kube-proxy makes the firewall too; without it, what is there is the kubelet's alone. */
async function withoutProxy(node: ClusterNode): Promise<void> {
  await cluster.component(`kube-proxy@${node.name}`).end();
  for (const program of ["iptables", "ip6tables"])
    for (const table of ["mangle", "nat", "filter"])
      for (const flag of ["-F", "-X"]) await node.run(program, "-w", "5", "-t", table, flag);
}

suite("an agent's duties for its machine", () => {
  test("[1.15] both agents bring the kernel's settings to the same values, and the machine's own stay as they were", async () => {
    const wanted = KERNEL_TUNABLES.map(({ name, wanted: value }) => [name, value]);
    for (const node of [ours, theirs]) {
      await waitUntil(`${node.name} to have set them`, 30_000, async () => {
        return JSON.stringify(await settingsOf(node)) === JSON.stringify(wanted);
      });
    }
    assert.deepEqual(await readKernelSettings(), machineBefore);
  });

  test("[1.15] protected settings that are wrong stop both agents, with the same words, and are not written", async () => {
    const fault = /invalid kernel flag: kernel\/panic, expected value: 10, actual value: 7/;
    for (const [node, kind] of [
      [ours, "deckhand"],
      [theirs, "go"],
    ] as const) {
      const copy = kernelSettingCopy(node.folder, "kernel/panic");
      const component = cluster.component(`kubelet@${node.name}`);
      await component.end();
      await writeFile(copy, "7\n");
      const [file, ...args] = [...lineOf(node, kind), "--protect-kernel-defaults=true"];
      const { code, stderr } = await node.run("timeout", "60", file, ...args);
      assert.equal(code, 1, `${kind}: ${stderr.slice(-2000)}`);
      assert.match(stderr, fault, kind);
      assert.equal(await readFile(copy, "utf8"), "7\n");
      await component.restart();
      await waitUntil("the setting", 30_000, async () => (await readFile(copy, "utf8")).trim() === "10");
    }
  });

  test("[1.16] the chains of both agents are the same, rule by rule, and come back when they are flushed", async () => {
    for (const node of [ours, theirs]) await withoutProxy(node);
    await Promise.all([agent.restart(), goAgent.restart()]);
    const made = async (node: ClusterNode) => (await chainsOf(node)).length >= 11;
    await waitUntil("the chains", 60_000, async () => (await made(ours)) && (await made(theirs)));
    const chains = await chainsOf(ours);
    assert.deepEqual(chains, await chainsOf(theirs));
    const of = (part: string) => chains.filter((line) => line.includes(part)).length;
    assert.deepEqual([of(":KUBE-IPTABLES-HINT"), of(":KUBE-KUBELET-CANARY"), of(":KUBE-FIREWALL")], [2, 6, 1]);
    for (const chain of ["INPUT", "OUTPUT"])
      assert.ok(chains.includes(`iptables-save filter -A ${chain} -j KUBE-FIREWALL`));

    for (const flag of ["-F", "-X"]) assert.equal((await ours.run("iptables", "-w", "5", "-t", "nat", flag)).code, 0);
    assert.notDeepEqual(await chainsOf(ours), chains);
    await waitUntil("the flushed chains to be back", 70_000, async () => {
      return JSON.stringify(await chainsOf(ours)) === JSON.stringify(chains);
    });
    assert.ok(
      !/KUBE-/.test(execFileSync("iptables-save", { encoding: "utf8" })),
      "this machine's own tables are untouched",
    );
  });

  test("[1.22] without /dev/kmsg neither agent starts", async () => {
    for (const [node, kind] of [
      [ours, "deckhand"],
      [theirs, "go"],
    ] as const) {
      const component = cluster.component(`kubelet@${node.name}`);
      await component.end();
      // A /dev without it, for this one process.
      const script =
        'mount -t tmpfs tmpfs /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9 && exec "$@"';
      const line = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", ...lineOf(node, kind)];
      const { code, stderr } = await node.run("timeout", "60", ...line);
      assert.equal(code, 1, `${kind}: ${stderr.slice(-2000)}`);
      assert.match(stderr, /failed to create kubelet: .*\/dev\/kmsg/, kind);
      await component.restart();
    }
  });

  test("[1.22] kernel messages of a machine out of memory become the node's event, once, whoever is killed", async () => {
    // The machine is not run out of memory: a file takes the place of the device, as the kernel writes it.
    const messages = join(ours.folder, "kmsg");
    const kill = (sequence: number, name: string, pid: number) =>
      `4,${sequence},1,-;${name} invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0\n` +
      `6,${sequence + 1},2,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/a,task=${name},pid=${pid},uid=0\n` +
      `3,${sequence + 2},3,-;Out of memory: Killed process ${pid} (${name}) total-vm:1kB, anon-rss:1kB\n`;
    await writeFile(messages, "6,1,0,-;Linux version\n");
    await agent.end();
    const script = `mount --bind ${messages} /dev/kmsg && exec "$@"`;
    const command = ["unshare", "--mount", "--propagation", "unchanged", "sh", "-c"];
    const other = await cluster.start(
      {
        name: "with-messages",
        command: [...command, `mount --make-rprivate /dev && ${script}`, "sh", ...lineOf(ours, "deckhand")],
        ready: { kind: "listens", port: 10_248 },
      },
      ours,
    );
    const told = async () => {
      const lines =
        "jsonpath={range .items[*]}{.type} {.involvedObject.kind}/{.involvedObject.name} {.message}{'\\n'}{end}";
      return (await cluster.kubectl("get", coreEvents.plural, "--field-selector=reason=SystemOOM", "-o", lines)).trim();
    };
    await writeFile(messages, kill(2, "hog", 4242), { flag: "a" });
    const first = `Warning Node/${ours.name} System OOM encountered, victim process: hog, pid: 4242`;
    await waitUntil("the event", 20_000, async () => (await told()) === first);
    await other.restart();
    await writeFile(messages, kill(5, "other", 7), { flag: "a" });
    await waitUntil("the next event", 20_000, async () => (await told()).split("\n").length === 2);
    assert.deepEqual((await told()).split("\n").toSorted(), [
      first,
      `Warning Node/${ours.name} System OOM encountered, victim process: other, pid: 7`,
    ]);
    await other.end();
    await agent.restart();
  });

  test("[1.17] either agent waits for the lock that the other holds, and ours hands over when the Go kubelet wants it", async () => {
    const lock = `--lock-file=${join(ours.folder, "handover")}`;
    await cluster.changeAgent(ours.name, "deckhand", { flags: [lock, "--exit-on-lock-contention"] });
    assert.ok(existsSync(join(ours.folder, "handover")));
    const program = (name: string, kind: "deckhand" | "go") => ({
      name,
      command: [...lineOf(ours, kind), lock, ...(kind === "go" ? ["--exit-on-lock-contention"] : [])],
      ready: { kind: "listens", port: 10_250 } as const,
    });
    const go = await cluster.start(program("second", "go"), ours);
    await waitUntil("our agent to have ended", 20_000, async () => !(await agent.isAlive()));
    assert.match(await logOf(agent), /Another agent is to take over; pods stay as they are/);
    // It waits, and opening the file is what makes the Go kubelet end: then ours has it.
    const third = await cluster.start(program("third", "deckhand"), ours);
    await waitUntil("the Go kubelet to have ended", 30_000, async () => !(await go.isAlive()));
    assert.match(await logOf(third), /Acquiring file lock/);
    await waitUntil("our agent's health", 30_000, async () => {
      return /0100007F:2808 \S+ 0A/.test((await ours.run("cat", "/proc/net/tcp")).stdout);
    });
    assert.ok(await third.isAlive());
    await third.end();
  });
});

/** As the harness starts them, behind the node's copies of the kernel's settings. */
function lineOf(node: ClusterNode, kind: "deckhand" | "go"): readonly string[] {
  const program = kind === "go" ? [goProgram] : [process.execPath, DECKHAND_MAIN, "kubelet"];
  const flags = [
    `--config=${join(node.folder, "kubelet.json")}`,
    `--kubeconfig=${node.kubeconfig}`,
    `--node-ip=${node.address}`,
    `--hostname-override=${node.name}`,
  ];
  return behindOwnKernel(node.folder, [...program, ...flags]);
}
