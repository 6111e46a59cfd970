/** Compares a dual-stack node with the Go kubelet's: the addresses of the Node, of its pods and in their containers. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Node, Pod, PodSpec } from "../../src/api/gen/core-v1.ts";
import { waitUntil } from "../cluster/wait.ts";
import { Recording } from "../golden/recording.ts";
import { NODES, nameOn, SIDES, type Side } from "../golden/sides.ts";
import { BothAgents } from "../support/both-agents.ts";
import { podOn, STAY, sh } from "../support/cluster-pods.ts";

const recording = Recording.open("dual-stack");
const WAIT_MS = 60_000;
const FIELDS = ["podIP", "podIPs", "hostIP", "hostIPs"] as const;
const CASES: Readonly<Record<string, Partial<PodSpec>>> = { plain: {}, "host-network": { hostNetwork: true } };

const spec = (more: Partial<PodSpec>): Partial<PodSpec> => ({
  containers: [
    {
      ...sh(`${FIELDS.map((field) => `echo "$${field}"`).join("; ")}; cat /etc/hosts; ${STAY}`),
      env: FIELDS.map((field) => ({ name: field, valueFrom: { fieldRef: { fieldPath: `status.${field}` } } })),
    },
  ],
  ...more,
});

let both: BothAgents;

before(async () => {
  both = await BothAgents.start({ dualStack: true }, { criProxy: false });
  for (const side of SIDES) {
    for (const [name, more] of Object.entries(CASES)) {
      await both.pods.create(podOn(NODES[side], nameOn(side, name), spec(more)));
    }
  }
});

after(() => both.end());

/** Replaces addresses and names by placeholders. */
function neutral(text: string, side: Side, pod?: Pod): string {
  const { address, ipv6Address, name } = both.node(side);
  const named: [string, string][] = [
    ...(pod?.status?.podIPs ?? []).map(({ ip }): [string, string] => [ip, `<pod ${familyOf(ip)}>`]),
    [address, "<node IPv4>"],
    [ipv6Address, "<node IPv6>"],
  ];
  // A pod with hostNetwork has the node's addresses.
  const ofNode = pod?.spec?.hostNetwork === true ? named.slice(-2) : named;
  const replaced = ofNode.reduce((rest, [from, to]) => rest.replaceAll(from, to), text);
  return replaced.replaceAll(new RegExp(`\\b([a-z-]+-)?${name}\\b`, "g"), "$1<node>");
}

const familyOf = (address: string) => (address.includes(":") ? "IPv6" : "IPv4");

describe("a dual-stack node", () => {
  test("[3.5] [11.8] Node has both addresses in the order of --node-ip", async () => {
    await recording.check("addresses of the Node", async (side) => {
      let node: Node = {};
      await waitUntil("the addresses", WAIT_MS, async () => {
        node = JSON.parse(await both.cluster.kubectl("get", "node", NODES[side], "-o", "json")) as Node;
        return (node.status?.addresses ?? []).length > 0;
      });
      const addresses = node.status?.addresses ?? [];
      assert.equal(addresses.filter(({ type }) => type === "InternalIP").length, 2);
      return addresses.map(({ type, address }) => [type, neutral(address, side)]);
    });
  });

  for (const name of Object.keys(CASES)) {
    test(`[11.8] [24.4] [24.8] ${name} pod: status, environment and /etc/hosts have both addresses of the pod and of the node`, async () => {
      await recording.check(`${name}: status`, async (side) => {
        const pod = await both.pods.running(nameOn(side, name), WAIT_MS);
        const { podIP, podIPs, hostIP, hostIPs } = pod.status ?? {};
        assert.deepEqual(
          podIPs?.map(({ ip }) => familyOf(ip)),
          ["IPv4", "IPv6"],
          side,
        );
        return JSON.parse(neutral(JSON.stringify({ podIP, podIPs, hostIP, hostIPs }), side, pod)) as unknown;
      });
      await recording.check(`${name}: environment and /etc/hosts`, async (side) => {
        const pod = await both.pods.running(nameOn(side, name), WAIT_MS);
        const lines = (text: string) => text.trim().split("\n");
        let log = "";
        await waitUntil("its output", WAIT_MS, async () => {
          log = await both.cluster.kubectl("logs", nameOn(side, name));
          return lines(log).length > FIELDS.length + 2;
        });
        // With hostNetwork, /etc/hosts is a copy of the machine's file.
        const own = pod.spec?.hostNetwork === true ? lines(log).slice(0, FIELDS.length) : lines(log);
        return neutral(own.join("\n"), side, pod).split("\n");
      });
    });
  }
});
