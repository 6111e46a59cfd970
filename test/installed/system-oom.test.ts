/** A process outside any pod exhausts the memory of a machine: the Node gets an event, and the agent keeps running. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Event as CoreEvent, Node } from "../../src/api/gen/core-v1.ts";
import { scratch } from "../../tools/scratch.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import type { Payloads } from "../guest/disks.ts";
import { resumeGuest } from "../guest/guests.ts";
import { type Agent, deckhandPayloads, launchAgent } from "../support/guest-agents.ts";
import { GUEST_NODE, makeNode, NODE_FLAGS } from "../support/guest-node.ts";

const LIMIT_MS = 10 * 60_000;
const LOOK_EVERY_MS = 1_000;
/**
 * Reserved as huge pages and never written to: the remaining memory is used up quickly, and the host need not provide
 * the rest.
 */
const SET_ASIDE_MIB = 2_800;
/** More than the memory that is left, but still a limit. */
const EATEN_GIB_MAX = 3;
/**
 * `tail` keeps an endless line in memory until it ends. As a unit it runs in system.slice and is the first process to
 * be killed.
 */
const EAT = `systemd-run --quiet --unit hog -p OOMScoreAdjust=1000 -p LimitAS=${EATEN_GIB_MAX}G tail /dev/zero
systemctl show -p MainPID --value hog
while systemctl is-active --quiet hog; do sleep 0.5; done`;

interface Reported {
  /** All of the node's events with this reason, without the fields that differ between runs. */
  readonly events: readonly unknown[];
  readonly pids: readonly [before: string, after: string];
}

describe("a guest that runs out of memory", () => {
  const directory = scratch();
  let cluster: Cluster;
  let payloads: Payloads;

  before(async () => {
    payloads = await deckhandPayloads();
    cluster = await startCluster({ controlPlane: "api", nodes: [] });
  });

  after(async () => {
    await cluster.down();
    directory[Symbol.dispose]();
  });

  const reported = async () => {
    const text = await cluster.kubectl("get", "events", "-A", "--field-selector=reason=SystemOOM", "-o", "json");
    return (JSON.parse(text) as { readonly items: readonly CoreEvent[] }).items;
  };
  const isReady = async () => {
    const text = await cluster.kubectl("get", "node", GUEST_NODE, "-o", "json", "--ignore-not-found");
    const { status } = JSON.parse(text || "{}") as Partial<Node>;
    return status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
  };
  const renewed = () =>
    cluster.kubectl("get", "lease", "-n", "kube-node-lease", GUEST_NODE, "-o", "jsonpath={.spec.renewTime}");

  /** Uses a separate guest: the kernel log of a guest still holds what a previous agent reported. */
  async function runOut(agent: Agent): Promise<Reported> {
    await using guest = await resumeGuest();
    await makeNode(guest, cluster);
    await guest.put(payloads);
    await guest.must(`sysctl -qw vm.nr_hugepages=${SET_ASIDE_MIB / 2}`);
    await launchAgent(guest, agent, NODE_FLAGS);
    await waitUntil(`${agent}'s node to be ready`, LIMIT_MS, isReady, LOOK_EVERY_MS);
    const mainPid = async () => (await guest.must("systemctl show -p MainPID --value agent")).trim();
    const pid = await mainPid();

    const beganMs = performance.now();
    const eater = (await guest.must(EAT, { limitMs: LIMIT_MS })).trim();
    await waitUntil("the node's event", LIMIT_MS, async () => (await reported()).length > 0, LOOK_EVERY_MS);
    figure(`${agent}: from the first byte to the event`, Math.round(performance.now() - beganMs), "ms");
    const before = await renewed();
    await waitUntil("another heartbeat", LIMIT_MS, async () => (await renewed()) !== before, LOOK_EVERY_MS);
    assert.ok(await isReady(), "the node is ready still");
    const events = (await reported()).map((event) => normal(event, eater));
    const pids = [pid, await mainPid()] as const;
    await guest.must("systemctl stop agent");
    await cluster.kubectl("delete", "events", "--all", "-A");
    await cluster.kubectl("delete", "node", GUEST_NODE);
    return { events, pids };
  }

  test("[1.22] a process that exhausts the memory causes one SystemOOM event on the Node, and the agent keeps running", async () => {
    const { events, pids } = await runOut("deckhand");
    assert.deepEqual(pids, [pids[0], pids[0]]);
    assert.deepEqual(events, [
      {
        type: "Warning",
        reason: "SystemOOM",
        message: "System OOM encountered, victim process: tail, pid: <the eater's>",
        count: 1,
        involvedObject: { apiVersion: "v1", kind: "Node", name: GUEST_NODE },
        source: { component: "kubelet", host: GUEST_NODE },
        reportingComponent: "kubelet",
        reportingInstance: GUEST_NODE,
        namespace: "default",
      },
    ]);
    const theirs = await runOut("go");
    assert.deepEqual(events, theirs.events);
    assert.deepEqual(theirs.pids, [theirs.pids[0], theirs.pids[0]]);
  });
});

function normal(event: CoreEvent, eater: string) {
  const { type, reason, message = "", count, involvedObject, source, reportingComponent, reportingInstance } = event;
  return {
    type,
    reason,
    message: message.replace(new RegExp(`pid: ${eater}$`), "pid: <the eater's>"),
    count,
    involvedObject,
    source,
    reportingComponent,
    reportingInstance,
    namespace: event.metadata.namespace,
  };
}
