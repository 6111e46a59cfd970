/** Tests the agent's host tasks with the whole kubelet, killed and started again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { coreEvents } from "../src/api/resources.ts";
import { KERNEL_TUNABLES } from "../src/domain/host/kernel-tunables.ts";
import { kubelet, kubeletWith } from "./kubelet.ts";
import { World } from "./world.ts";

const SIGNAL = new AbortController().signal;
const kill = (name: string, pid: number) => [
  `${name} invoked oom-killer: gfp_mask=0xcc0`,
  `oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=${name},pid=${pid},uid=0`,
];

function begin() {
  const world = new World({ seed: 1 });
  const node = world.addNode("n1");
  const reported = async () => {
    const { items } = await world.until(world.user.list(coreEvents, { namespace: "default" }, {}, SIGNAL));
    return items.filter(({ reason }) => reason === "SystemOOM").map(({ message, type }) => `${type} ${message}`);
  };
  return { world, node, reported };
}

test("[1.22] reports a system OOM once, from the running agent or from the next one", async () => {
  const { world, node, reported } = begin();
  node.start(kubelet);
  await world.advance(10_000);
  node.host.messages.say("eth0: link up", ...kill("hog", 77));
  await world.advance(10_000);
  const first = "Warning System OOM encountered, victim process: hog, pid: 77";
  assert.deepEqual(await reported(), [first]);
  node.crash();
  node.host.messages.say(...kill("kubelet", 5));
  node.start(kubelet);
  await world.advance(10_000);
  node.crash();
  node.start(kubelet);
  await world.advance(10_000);
  assert.deepEqual(await reported(), [first, "Warning System OOM encountered, victim process: kubelet, pid: 5"]);
  node.crashMachine();
  node.host.messages.say(...kill("early", 3));
  node.start(kubelet);
  await world.advance(10_000);
  assert.equal((await reported()).length, 3, "the sequence numbers restarted");
});

test("[1.22] refuses to start without kernel messages, except in a user namespace", async () => {
  const { world, node } = begin();
  node.host.messages.trouble = "open /dev/kmsg: no such file or directory";
  node.start(kubelet);
  await world.advance(1_000);
  assert.match(String(node.failure?.error), /failed to create kubelet: open \/dev\/kmsg: no such file or directory/);
  node.start(kubeletWith("--feature-gates=KubeletInUserNamespace=true"));
  await world.advance(30_000);
  assert.equal(node.isRunning, true);
});

test("[1.15] writes kernel settings at every start; --protect-kernel-defaults refuses to start if they differ", async () => {
  const { world, node } = begin();
  const { sysctls } = node.host;
  node.start(kubeletWith("--protect-kernel-defaults"));
  await world.advance(1_000);
  assert.match(
    String(node.failure?.error),
    /invalid kernel flag: vm\/overcommit_memory, expected value: 1, actual value: 0/,
  );
  assert.equal(await sysctls.read("vm.overcommit_memory"), "0");
  node.start(kubelet);
  await world.advance(1_000);
  for (const { name, wanted } of KERNEL_TUNABLES) assert.equal(await sysctls.read(name), wanted, name);
  node.crash();
  node.start(kubeletWith("--protect-kernel-defaults"));
  await world.advance(1_000);
  assert.equal(node.isRunning, true, "they are right now");
});

test("[1.16] restores the iptables chains while the agent runs, unless they are disabled", async () => {
  const { world, node } = begin();
  const { chains } = node.host;
  node.start(kubeletWith("--make-iptables-util-chains=false"));
  await world.advance(1_000);
  assert.equal(chains.rules.has("IPv4/mangle/KUBE-IPTABLES-HINT"), false);
  node.crash();
  node.start(kubelet);
  await world.advance(1_000);
  assert.equal(chains.rules.has("IPv4/mangle/KUBE-IPTABLES-HINT"), true);
  chains.flush();
  await world.advance(61_000);
  assert.equal(chains.rules.has("IPv6/mangle/KUBE-IPTABLES-HINT"), true);
  assert.deepEqual(chains.rules.get("IPv4/filter/INPUT"), ["-j KUBE-FIREWALL"]);
});
