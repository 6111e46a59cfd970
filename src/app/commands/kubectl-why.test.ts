import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Pod } from "../../api/gen/core-v1.ts";
import { type KubectlResult, kubectlWhyCommand } from "./kubectl-why.ts";

const POD: Pod = {
  metadata: { name: "web", namespace: "shop", uid: "u1" },
  spec: { nodeName: "n1", containers: [] },
  status: {
    phase: "Pending",
    conditions: [{ type: "Ready", status: "False", reason: "ContainersNotReady", message: "app is not ready" }],
    containerStatuses: [
      {
        name: "app",
        image: "shop:1",
        imageID: "",
        ready: false,
        restartCount: 2,
        state: { waiting: { reason: "ImagePullBackOff", message: "Back-off \u001b[31mpulling" } },
        lastState: { terminated: { exitCode: 3, reason: "Error" } },
      },
    ],
  },
};
const EVENTS = { items: [{ lastTimestamp: "2026-11-19T10:00:00Z", reason: "Failed", message: "not found", count: 3 }] };
const ok = (value: unknown): KubectlResult => ({
  code: 0,
  stdout: typeof value === "string" ? value : JSON.stringify(value),
  stderr: "",
});
const failed = (stderr: string): KubectlResult => ({ code: 1, stdout: "", stderr });

async function why(line: string, answers: Readonly<Record<string, KubectlResult>>) {
  const said = { stdout: "", stderr: "" };
  const calls: string[] = [];
  const io = {
    stdout: (text: string) => void (said.stdout += text),
    stderr: (text: string) => void (said.stderr += text),
  };
  const code = await kubectlWhyCommand(line.split(" "), io, async (args) => {
    const call = args.join(" ");
    calls.push(call);
    const [, answer] = Object.entries(answers).find(([part]) => call.includes(part)) ?? [];
    return answer ?? assert.fail(`unexpected: kubectl ${call}`);
  });
  return { code, calls, ...said };
}

describe("kubectl why", () => {
  test("prints the explanation of the pod's node, with every terminal escape shown as a code point", async () => {
    const { code, stdout, calls } = await why("pod web -n shop --as=reader --context=prod", {
      "get pod web": ok(POD),
      "get --raw": ok("Pod shop/web\n\u001b[2Jwaits\u009b\n"),
    });
    assert.deepEqual([code, stdout], [0, "Pod shop/web\n\\u001b[2Jwaits\\u009b\n"]);
    const flags = "--as=reader --context=prod --request-timeout=15s";
    assert.deepEqual(calls, [
      `get pod web --namespace shop --output=json ${flags}`,
      `get --raw /api/v1/nodes/n1/proxy/explain/pod/shop/web?output=text&uid=u1 ${flags}`,
    ]);
  });

  test("accepts TYPE/NAME, asks for JSON with -o json, and explains a node", async () => {
    const { calls } = await why("pod/web -o json", { "get pod web": ok(POD), "get --raw": ok("{}\n") });
    assert.match(calls[1] ?? "", /pod\/shop\/web\?output=json&uid=u1/);
    const node = await why("node n1", { "get --raw": ok("The node is ready.\n") });
    assert.deepEqual([node.code, node.stdout], [0, "The node is ready.\n"]);
    assert.match(node.calls.join(), /^get --raw \/api\/v1\/nodes\/n1\/proxy\/explain\/node\?output=text /);
  });

  test("exits with 1 and kubectl's message when the user may not use nodes/proxy or not read the pod", async () => {
    const forbidden = 'Error from server (Forbidden): nodes "n1" is forbidden: User "x" cannot get nodes/proxy\n';
    const proxy = await why("pod web", { "get pod web": ok(POD), "get --raw": failed(forbidden) });
    assert.deepEqual([proxy.code, proxy.stdout, proxy.stderr], [1, "", forbidden]);
    const missing = 'Error from server (NotFound): pods "web" not found\n';
    const pod = await why("pod web", { "get pod web": failed(missing) });
    assert.deepEqual([pod.code, pod.stderr], [1, missing]);
  });

  test("shows status and events when the node runs another kubelet or does not answer", async () => {
    const notFound = "Error from server (NotFound): the server could not find the requested resource";
    const { code, stdout } = await why("pod web", {
      "get pod web": ok(POD),
      "get --raw": failed(`${notFound}\n`),
      "get events": ok(EVENTS),
    });
    assert.equal(code, 0);
    assert.equal(
      stdout,
      `Node n1 did not explain it: ${notFound}. This is what\nthe API server knows:

Pod shop/web on n1: Pending
Ready=False: ContainersNotReady: app is not ready
container app waits: ImagePullBackOff: Back-off \\u001b[31mpulling
container app restarted 2 times, last exit 3: Error
2026-11-19T10:00:00Z  Failed: not found (3 times)
`,
    );
  });

  test("shows the status without events when the user may not list events, and for a pod without a node", async () => {
    const { spec: _, ...unassigned } = POD;
    const { code, stdout } = await why("pod web", {
      "get pod web": ok(unassigned),
      "get events": failed("Error from server (Forbidden): events is forbidden\n"),
    });
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^The pod is not assigned to a node yet\. This is what the API server knows:\n\nPod shop\/web on no node/,
    );
    assert.match(stdout, /\nEvents: Error from server \(Forbidden\): events is forbidden\n$/);
  });

  test("asks for a static pod by the UID of its manifest", async () => {
    const annotations = { "kubernetes.io/config.mirror": "manifest1" };
    const mirror = { ...POD, metadata: { ...POD.metadata, annotations } };
    const { calls } = await why("pod web", {
      "get pod web": ok(mirror),
      "get --raw": failed("Error from server (NotFound): shop/web is not known to this node\n"),
      "get events": ok(EVENTS),
    });
    assert.match(calls[1] ?? "", /\?output=text&uid=manifest1 /);
    assert.match(calls[2] ?? "", /involvedObject\.uid=manifest1 /);
  });

  test("passes every flag of kubectl on, repeated ones too", async () => {
    const { calls } = await why("node n1 --as-group=a --as-group=b --insecure-skip-tls-verify -s https://x", {
      "get --raw": ok("ready\n"),
    });
    for (const flag of ["--as-group=a", "--as-group=b", "--insecure-skip-tls-verify=true", "--server=https://x"]) {
      assert.ok(calls[0]?.includes(flag), `${flag} in ${calls[0]}`);
    }
  });

  test("shows the conditions of a Node whose kubelet does not answer", async () => {
    const conditions = [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown", message: "stopped posting" }];
    const { stdout } = await why("node n1", {
      "get --raw": failed("Error from server (ServiceUnavailable): dial tcp: connection refused\n"),
      "get node n1": ok({ metadata: { name: "n1" }, status: { conditions } }),
    });
    assert.match(stdout, /connection refused\. This is/);
    assert.match(stdout, /\nNode n1\nReady=Unknown: NodeStatusUnknown: stopped posting\n$/);
  });

  test("prints its usage for --help, and exits with 2 for a wrong command line", async () => {
    const help = await why("--help", {});
    assert.deepEqual([help.code, help.stdout.startsWith("Usage: kubectl why pod NAME")], [0, true]);
    for (const line of ["pod", "deployment web", "pod web shop", "pod web --color", "pod web -o xml"]) {
      const { code, stderr } = await why(line, {});
      assert.deepEqual([code, stderr.startsWith("error: ")], [2, true], line);
    }
  });
});
