import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NodeCondition } from "../../api/gen/core-v1.ts";
import { decisionRecord, type JournalRecord } from "../journal/records.ts";
import { EXPLANATION_BYTES_MAX, NODE_CONDITIONS_MAX, NODE_STATE_NAME_BYTES_MAX } from "../limits.ts";
import { explainNode, nodeExplanationJson, nodeExplanationText } from "./explain-node.ts";
import { NodeStates } from "./node-states.ts";

const AT = Date.parse("2026-11-19T10:00:00Z");
const startAgent = (wallMs: number): JournalRecord =>
  decisionRecord({ uid: "", pod: "", wallMs }, { kind: "startAgent" });
const ready = (status: "True" | "False", message: string, since = "2026-11-19T09:00:00Z"): NodeCondition => ({
  type: "Ready",
  status,
  reason: status === "True" ? "KubeletReady" : "KubeletNotReady",
  message,
  lastTransitionTime: since,
});

describe("records about the node", () => {
  test("a condition is recorded when its status, reason or message changes, not when only numbers in it change", () => {
    const states = new NodeStates();
    const count = (condition: NodeCondition) => states.conditions([condition], AT).length;
    assert.equal(count(ready("True", "kubelet is posting ready status")), 1);
    assert.equal(count(ready("True", "kubelet is posting ready status")), 0);
    assert.equal(count(ready("False", "PLEG is not healthy: pleg was last seen active 3m1s ago")), 1);
    assert.equal(count(ready("False", "PLEG is not healthy: pleg was last seen active 4m7s ago")), 0);
    assert.equal(count(ready("False", "container runtime is down")), 0, "within a minute of the last record");
    assert.equal(states.conditions([ready("False", "container runtime is down")], AT + 60_000).length, 1);
  });

  test("conditions of other clients are limited in number, and a removed one is recorded as removed", () => {
    const states = new NodeStates();
    const foreign = Array.from({ length: NODE_CONDITIONS_MAX + 10 }, (_, index) => ({
      ...ready("True", ""),
      type: `Foreign${index}`,
    }));
    assert.equal(states.conditions(foreign, AT).length, NODE_CONDITIONS_MAX);
    const long = { ...ready("True", ""), type: "x".repeat(5_000), reason: "y".repeat(5_000) };
    const [record] = new NodeStates().conditions([long], AT);
    assert.equal(record?.reason.length, NODE_STATE_NAME_BYTES_MAX);
    assert.equal(record.subject.length, "condition/".length + NODE_STATE_NAME_BYTES_MAX);
    const removed = states.conditions([ready("True", "")], AT + 1).filter(({ state }) => state === "removed");
    assert.equal(removed.length, NODE_CONDITIONS_MAX);
    assert.deepEqual(states.conditions([ready("True", "")], AT + 2), []);
    const shown = explainNode([...states.conditions(foreign.slice(0, 1), AT + 3), ...removed.slice(0, 1)]);
    assert.deepEqual(shown?.conditions, []);
  });

  test("a message is cut to the limit of an explanation", () => {
    const [record] = new NodeStates().conditions([ready("False", "x".repeat(100_000))], AT);
    assert.equal(record?.why.length, EXPLANATION_BYTES_MAX);
  });

  test("a wait keeps its first time while its cause changes, and ends once", () => {
    const states = new NodeStates();
    const wait = (why: string) => [{ what: "the Node", why }];
    const [first] = states.waits(wait("no answer"), AT);
    const [second] = states.waits(wait("refused"), AT + 60_000);
    assert.deepEqual([first?.state, first?.sinceWallMs], ["waiting", AT]);
    assert.deepEqual([second?.state, second?.why, second?.sinceWallMs], ["waiting", "refused", AT]);
    assert.deepEqual(
      states.waits([], AT + 62_000).map(({ state }) => state),
      ["ended"],
    );
    assert.deepEqual(states.waits([], AT + 63_000), []);
    assert.equal(states.waits(wait("again"), AT + 64_000)[0]?.sinceWallMs, AT + 64_000);
  });
});

describe("explanation of the node", () => {
  test("is undefined for a journal without records about the node", () => {
    assert.equal(explainNode([{ kind: "admitted", uid: "u", pod: "a/b", wallMs: AT }]), undefined);
  });

  test("has the last state of each condition, the waits of the last process, and both formats", () => {
    const states = new NodeStates();
    const earlier = new NodeStates();
    const explanation = explainNode([
      startAgent(AT - 10_000),
      ...earlier.waits([{ what: "the pod sources", why: "not read" }], AT - 5_000),
      startAgent(AT),
      ...states.conditions([ready("True", "kubelet is posting ready status")], AT),
      ...states.conditions([ready("False", "container runtime is down", "2026-11-19T10:00:30Z")], AT + 30_000),
      ...states.waits([{ what: "the container runtime", why: "container runtime is\u001b[31m down" }], AT + 31_000),
    ]);
    assert.ok(explanation !== undefined);
    assert.equal(
      nodeExplanationText(explanation, AT + 60_000),
      `This node, as its agent recorded it until 10:00:31 UTC; the agent was started at 10:00:00:

The node is not ready: container runtime is down. The agent waits for the container runtime.

Ready  False    KubeletNotReady since 10:00:30: container runtime is down
waits since 10:00:31 for the container runtime: container runtime is\\u001b[31m down
`,
    );
    const json = nodeExplanationJson({ ...explanation, sentence: "a\u009bb" });
    assert.ok(json.includes("a\\u009bb") && !json.includes("\u009b"));
    assert.deepEqual(JSON.parse(json), {
      sentence: "a\u009bb",
      agentStarted: "2026-11-19T10:00:00.000Z",
      lastRecord: "2026-11-19T10:00:31.000Z",
      conditions: [
        {
          type: "Ready",
          status: "False",
          reason: "KubeletNotReady",
          message: "container runtime is down",
          isCurrent: true,
          since: "2026-11-19T10:00:30.000Z",
        },
      ],
      waitsFor: [
        {
          what: "the container runtime",
          why: "container runtime is\u001b[31m down",
          since: "2026-11-19T10:00:31.000Z",
        },
      ],
      evictions: [],
    });
  });

  test("says when no conditions are known, and marks those from before the last start of the agent", () => {
    assert.equal(explainNode([startAgent(AT)])?.sentence, "The agent has determined no conditions of the node.");
    const before = new NodeStates().conditions([ready("True", "posting"), { ...ready("True", ""), type: "Old" }], AT);
    const restarted = explainNode([...before, startAgent(AT + 1)]);
    assert.equal(
      restarted?.sentence,
      "The agent has determined no conditions of the node since its start; before, the node was ready.",
    );
    assert.match(
      nodeExplanationText(restarted, AT),
      /KubeletReady since \S+: posting \(before the last start of the agent\)/,
    );
    const after = new NodeStates().conditions([ready("True", "posting")], AT + 2);
    const reported = explainNode([...before, startAgent(AT + 1), ...after]);
    assert.deepEqual(
      reported?.conditions.map(({ type, isCurrent }) => [type, isCurrent]),
      [["Ready", true]],
    );
  });
});

test("[17.6] explain node shows the last evictions with what was measured and how pods were ranked", () => {
  const candidate = { pod: "a/greedy", uid: "u1", priority: 0, usage: "300", request: "10", exceedsRequest: true };
  const evicted = (index: number): JournalRecord =>
    decisionRecord(
      { uid: `u${index}`, pod: `a/p${index}`, wallMs: AT + index },
      {
        kind: "evict",
        signal: "memory.available",
        why: "The node was low on resource: memory. ",
        measured: { available: "50", capacity: "8000", threshold: "100", computed: "as the test says" },
        candidates: [{ ...candidate, evictable: true }],
      },
    );
  const explanation = explainNode([1, 2, 3, 4, 5, 6].map(evicted));
  assert.deepEqual(
    explanation?.evictions.map(({ pod }) => pod),
    ["a/p2", "a/p3", "a/p4", "a/p5", "a/p6"],
  );
  const text = nodeExplanationText(explanation, AT).replaceAll(/\s+/g, " ");
  assert.match(text, /a\/p6: The node was low on resource: memory\. \(memory\.available was 50 of 8000, below 100/);
  assert.match(text, /ranked for eviction: a\/greedy \(usage 300, request 10, priority 0, exceeds its request\)\)/);
  assert.match(nodeExplanationJson(explanation), /"signal": "memory.available"/);
});
