import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { kubelet } from "../kubelet.ts";
import type { AgentFactory } from "../sim-node.ts";
import { canonical } from "./canonical.ts";
import { describeFailure, enumerateCrashPoints } from "./crash-points.ts";
import { play } from "./scenario.ts";

describe("the ten canonical scenarios", () => {
  for (const scenario of canonical) {
    test(`${scenario.name}: breaks no invariant and ends as expected; the same seed gives the same trace`, async () => {
      const [first, second] = [await play(scenario), await play(scenario)];
      assert.deepEqual([first.violations, first.wrong], [[], []], first.lastLines.slice(-30).join("\n"));
      assert.equal(first.hash, second.hash);
    });
  }

  test("another seed gives another trace and the same final state", async () => {
    const [scenario] = canonical;
    assert.ok(scenario !== undefined);
    const [one, two] = [await play(scenario, { seed: 1 }), await play(scenario, { seed: 2 })];
    assert.notEqual(one.hash, two.hash);
    assert.deepEqual([two.violations, two.wrong], [[], []]);
  });
});

/**
 * A kubelet that does not look for what its previous process left running: the step that everything rests on, left out.
 */
const withoutAdoption: AgentFactory = (ports, node) => {
  const isLook = (filter: { readonly labels?: unknown }) => filter.labels !== undefined;
  const runtime: typeof ports.runtime = {
    ...ports.runtime,
    listSandboxes: (filter, signal) =>
      isLook(filter) ? Promise.resolve([]) : ports.runtime.listSandboxes(filter, signal),
    listContainers: (filter, signal) =>
      isLook(filter) ? Promise.resolve([]) : ports.runtime.listContainers(filter, signal),
  };
  return kubelet(node.lives > 1 ? { ...ports, runtime } : ports, node);
};

test("canary: the oracle detects a kubelet that skips adoption", async () => {
  const scenario = canonical.find(({ name }) => name === "agent restart");
  assert.ok(scenario !== undefined);
  const { violations } = await play(scenario, { agent: withoutAdoption });
  assert.ok(
    violations.some((violation) => violation.includes("[1]")),
    `found only ${JSON.stringify(violations)}`,
  );
});

test("a failure report says where it broke and how to reproduce it", async () => {
  const scenario = canonical.find(({ name }) => name === "start");
  assert.ok(scenario !== undefined);
  const { failures } = await enumerateCrashPoints(scenario, { stride: 120, agent: withoutAdoption });
  const [failure] = failures;
  assert.ok(failure !== undefined);
  assert.match(describeFailure(failure), /^start, killed at call \d+ \((before|after) its effect\):\n/);
});
