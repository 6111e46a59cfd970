/**
 * The agent's host tasks, beside the Go kubelet on a node of the same kind: kernel settings (copies of them: tests must
 * not change the machine's own), iptables chains in the nodes' own network namespaces, kernel messages, and the lock by
 * which agents hand over.
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
import { DECKHAND_MAIN } from "../cluster/node.ts";
import { behindOwnKernel, kernelSettingCopy } from "../cluster/own-kernel.ts";
import { buildParts } from "../cluster/parts.ts";
import { readSysctls } from "../cluster/sysctls.ts";
import { waitUntil } from "../cluster/wait.ts";

let cluster: Cluster;
let ours: ClusterNode;
let theirs: ClusterNode;
let agent: Component;
let goAgent: Component;
let goProgram: string;
let machineBefore: Readonly<Record<string, string>>;

before(async () => {
  machineBefore = await readSysctls();
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
      (await readFile(kernelSettingCopy(node.directory, pathOf(name)), "utf8")).trim(),
    ]),
  );
const logOf = (component: Component) => readFile(component.logFile, "utf8");

/**
 * The chains that a kubelet creates, and the rules in them or leading to them, as iptables prints them, with the
 * program and table.
 */
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

/**
 * Ends kube-proxy, which also creates KUBE-FIREWALL, and flushes all chains: what appears afterwards is the kubelet's
 * alone.
 */
async function withoutProxy(node: ClusterNode): Promise<void> {
  await cluster.component(`kube-proxy@${node.name}`).end();
  for (const program of ["iptables", "ip6tables"])
    for (const table of ["mangle", "nat", "filter"])
      for (const flag of ["-F", "-X"]) await node.run(program, "-w", "5", "-t", table, flag);
}

suite("an agent's duties for its machine", () => {
  test("[1.15] both agents set the kernel settings to the same values, and the machine's own stay unchanged", async () => {
    const wanted = KERNEL_TUNABLES.map(({ name, wanted: value }) => [name, value]);
    for (const node of [ours, theirs]) {
      await waitUntil(`${node.name} to have set them`, 30_000, async () => {
        return JSON.stringify(await settingsOf(node)) === JSON.stringify(wanted);
      });
    }
    assert.deepEqual(await readSysctls(), machineBefore);
  });

  test("[1.15] wrong kernel settings under --protect-kernel-defaults stop both agents with the same error, and are not written", async () => {
    const fault = /invalid kernel flag: kernel\/panic, expected value: 10, actual value: 7/;
    for (const [node, kind] of [
      [ours, "deckhand"],
      [theirs, "go"],
    ] as const) {
      const copy = kernelSettingCopy(node.directory, "kernel/panic");
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

  test("[1.16] both agents create the same iptables chains and rules, and Deckhand restores flushed ones", async () => {
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
      // A /dev without kmsg, for this process only.
      const script =
        'mount -t tmpfs tmpfs /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9 && exec "$@"';
      const line = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", ...lineOf(node, kind)];
      const { code, stderr } = await node.run("timeout", "60", ...line);
      assert.equal(code, 1, `${kind}: ${stderr.slice(-2000)}`);
      assert.match(stderr, /failed to create kubelet: .*\/dev\/kmsg/, kind);
      await component.restart();
    }
  });

  test("[1.22] each kernel OOM kill becomes one SystemOOM event of the node, also after a restart of the agent", async () => {
    // The machine does not run out of memory: a file with messages as the kernel writes them replaces the device.
    const messages = join(ours.directory, "kmsg");
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
    const reported = async () => {
      const lines =
        "jsonpath={range .items[*]}{.type} {.involvedObject.kind}/{.involvedObject.name} {.message}{'\\n'}{end}";
      return (await cluster.kubectl("get", coreEvents.plural, "--field-selector=reason=SystemOOM", "-o", lines)).trim();
    };
    await writeFile(messages, kill(2, "hog", 4242), { flag: "a" });
    const first = `Warning Node/${ours.name} System OOM encountered, victim process: hog, pid: 4242`;
    await waitUntil("the event", 20_000, async () => (await reported()) === first);
    // The API server may show the event before the file is synced; an agent killed in between reports the kill again.
    const stored = ours.inside("/var/lib/kubelet/deckhand/system-oom.json");
    await waitUntil("the stored position", 20_000, async () => existsSync(stored));
    await other.restart();
    await writeFile(messages, kill(5, "other", 7), { flag: "a" });
    await waitUntil("the next event", 20_000, async () => (await reported()).split("\n").length === 2);
    assert.deepEqual((await reported()).split("\n").toSorted(), [
      first,
      `Warning Node/${ours.name} System OOM encountered, victim process: other, pid: 7`,
    ]);
    await other.end();
    await agent.restart();
  });

  test("[1.17] each agent waits for the lock that the other holds, and Deckhand hands over when the Go kubelet wants the lock", async () => {
    const lock = `--lock-file=${join(ours.directory, "handover")}`;
    await cluster.changeAgent(ours.name, "deckhand", { flags: [lock, "--exit-on-lock-contention"] });
    assert.ok(existsSync(join(ours.directory, "handover")));
    const program = (name: string, kind: "deckhand" | "go") => ({
      name,
      command: [...lineOf(ours, kind), lock, ...(kind === "go" ? ["--exit-on-lock-contention"] : [])],
      ready: { kind: "listens", port: 10_250 } as const,
    });
    const go = await cluster.start(program("second", "go"), ours);
    await waitUntil("our agent to have ended", 20_000, async () => !(await agent.isAlive()));
    assert.match(await logOf(agent), /Another agent takes over; pods keep running/);
    // Deckhand waits. Its opening of the file makes the Go kubelet exit, and then Deckhand holds the lock.
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

/** The agent's command line as in the harness, with the node's copies of the kernel settings. */
function lineOf(node: ClusterNode, kind: "deckhand" | "go"): readonly string[] {
  const program = kind === "go" ? [goProgram] : [process.execPath, DECKHAND_MAIN, "kubelet"];
  const flags = [
    `--config=${join(node.directory, "kubelet.json")}`,
    `--kubeconfig=${node.kubeconfig}`,
    `--node-ip=${node.address}`,
    `--hostname-override=${node.name}`,
  ];
  return behindOwnKernel(node.directory, [...program, ...flags]);
}
