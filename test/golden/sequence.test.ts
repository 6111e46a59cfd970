import assert from "node:assert/strict";
import { test } from "node:test";
import type { CriCall } from "../cluster/cri-proxy.ts";
import {
  changingCalls,
  differingLists,
  differingSteps,
  distinctSteps,
  repeatedCalls,
  withoutLoops,
} from "./sequence.ts";

test("repeated consecutive steps count once", () => {
  assert.deepEqual(distinctSteps(["a", "a", "b", "a"]), ["a", "b", "a"]);
});

for (const [title, go, deckhand, isSame] of [
  ["the same steps", "abc", "abc", true],
  ["a step of one agent between two that both show", "abc", "axbc", true],
  ["steps of either agent between two that both show", "axbc", "aybc", true],
  ["a step of one agent before all others", "abc", "xabc", false],
  ["a step of one agent after all others", "abc", "abcx", false],
  ["another order", "abcd", "acbd", false],
  ["a step that comes back under one agent only", "abc", "abac", false],
  ["a missing last step", "abc", "ab", false],
  ["nothing at all under one agent", "abc", "", false],
] as const) {
  test(`${title}: ${isSame ? "the same sequence" : "another sequence"}`, () => {
    const differences = differingSteps(go.split(""), deckhand.split(""));
    assert.equal(differences.length === 0, isSame, differences.join("\n"));
  });
}

test("two steps that alternate repeatedly count once", () => {
  assert.deepEqual(withoutLoops("abcbcbcd".split("")).join(""), "abcd");
  assert.deepEqual(withoutLoops("abcabc".split("")).join(""), "abcabc", "longer loops are compared");
  assert.deepEqual(withoutLoops("aba".split("")).join(""), "aba");
});

const call = (method: string, about: Partial<CriCall>): CriCall => ({
  method,
  request: {},
  id: "",
  startedWallMs: 0,
  endedWallMs: 0,
  code: 0,
  answer: {},
  ...about,
});

test("changingCalls keeps only calls that change something of the pod, with the container and its attempt", () => {
  const sandboxConfig = { metadata: { uid: "u1" } };
  const calls = [
    call("RunPodSandbox", { request: { config: sandboxConfig }, answer: { podSandboxId: "s1" } }),
    call("RunPodSandbox", { request: { config: { metadata: { uid: "u2" } } }, answer: { podSandboxId: "s2" } }),
    call("CreateContainer", {
      request: { sandboxConfig, config: { metadata: { name: "main", attempt: 0 } } },
      answer: { containerId: "c1" },
    }),
    call("StartContainer", { id: "c1", code: 2 }),
    call("CreateContainer", {
      request: { sandboxConfig, config: { metadata: { name: "broken", attempt: 0 } } },
      code: 2,
      answer: undefined,
    }),
    call("RunPodSandbox", { request: { config: { metadata: { uid: "u3" } } }, code: 2, answer: undefined }),
    call("StartContainer", { id: "c1", code: 1 }),
    call("ContainerStatus", { id: "c1" }),
    call("StopPodSandbox", { id: "s2" }),
    call("RemoveContainer", { id: "c1" }),
    call("StopPodSandbox", { id: "s1" }),
  ];
  assert.deepEqual(changingCalls(calls, { metadata: { uid: "u1" } }), [
    "RunPodSandbox",
    "CreateContainer main 0",
    "StartContainer main 0 code 2",
    "CreateContainer broken 0 code 2",
    "StopPodSandbox",
  ]);
});

test("StopContainer calls that overlap have no order; consecutive ones keep theirs", () => {
  const sandboxConfig = { metadata: { uid: "u1" } };
  const made = ["b", "a"].map((name) =>
    call("CreateContainer", {
      request: { sandboxConfig, config: { metadata: { name, attempt: 0 } } },
      answer: { containerId: name },
    }),
  );
  const stop = (id: string, startedWallMs: number, endedWallMs: number) =>
    call("StopContainer", { id, startedWallMs, endedWallMs });
  const stops = (...calls: readonly CriCall[]) =>
    changingCalls([...made, ...calls], { metadata: { uid: "u1" } }).slice(made.length);
  assert.deepEqual(stops(stop("b", 0, 10), stop("a", 5, 7)), ["StopContainer a 0", "StopContainer b 0"]);
  assert.deepEqual(stops(stop("b", 0, 10), stop("a", 11, 12)), ["StopContainer b 0", "StopContainer a 0"]);
});

test("a start or stop is a repeated call when an earlier one of the same container or sandbox succeeded", () => {
  const pod = { metadata: { uid: "u1" } };
  const sandboxConfig = { metadata: { uid: "u1" } };
  const made = [
    call("RunPodSandbox", { request: { config: sandboxConfig }, answer: { podSandboxId: "s1" } }),
    call("CreateContainer", {
      request: { sandboxConfig, config: { metadata: { name: "main", attempt: 0 } } },
      answer: { containerId: "c1" },
    }),
  ];
  const start = (code: number) => call("StartContainer", { id: "c1", code });
  assert.deepEqual(repeatedCalls([...made, start(2), start(0)], pod), []);
  assert.deepEqual(repeatedCalls([...made, start(0), call("StopContainer", { id: "c1" })], pod), []);
  const stop = call("StopPodSandbox", { id: "s1" });
  assert.deepEqual(repeatedCalls([...made, start(0), stop, start(0), stop], pod), [
    "StartContainer main 0",
    "StopPodSandbox",
  ]);
  assert.deepEqual(repeatedCalls([...made, stop, stop], { metadata: { uid: "u2" } }), []);
});

for (const [title, go, deckhand, isWhole, isSame] of [
  ["the same", "abc", "abc", true, true],
  ["one step more of a whole life", "abc", "abcd", true, false],
  ["two steps more of a part of a life", "abcde", "abc", false, true],
  ["three steps more of a part of a life", "abcdef", "abc", false, false],
  ["another step within", "abc", "axc", false, false],
  ["a step left out", "abcd", "acd", false, false],
] as const) {
  test(`lists of calls or events, ${title}: ${isSame ? "the same" : "different"}`, () => {
    assert.equal(differingLists(go.split(""), deckhand.split(""), isWhole).length === 0, isSame);
  });
}
