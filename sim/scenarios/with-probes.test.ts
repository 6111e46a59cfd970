import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ProbeError } from "../../src/ports/prober.ts";
import { kubelet } from "../kubelet.ts";
import { instead, type Mutant } from "../mutants.ts";
import { describeFailure, enumerateCrashPoints } from "./crash-points.ts";
import { play } from "./scenario.ts";
import { withProbes } from "./with-probes.ts";

describe("the scenarios with probes", () => {
  for (const scenario of withProbes) {
    test(`[11.12] [12.2] ${scenario.name}: breaks no invariant and ends as expected; the same seed gives the same trace`, async () => {
      const [first, second] = [await play(scenario), await play(scenario)];
      assert.deepEqual([first.violations, first.wrong], [[], []], first.lastLines.slice(-30).join("\n"));
      assert.equal(first.hash, second.hash);
    });

    test(`[11.12] ${scenario.name}: with the agent killed at sampled calls, readiness neither flips nor is invented`, async () => {
      const { failures, points } = await enumerateCrashPoints(scenario, { stride: 29 });
      assert.deepEqual(failures.map(describeFailure), []);
      assert.ok(points >= 10, `${points} points`);
    });
  }
});

const mutants: readonly Mutant[] = [
  {
    name: "believes a command that failed",
    breaks: "[8]",
    scenario: "probes",
    agent: (ports, node) => {
      const execSync: typeof ports.runtime.execSync = async (...args) => ({
        ...(await ports.runtime.execSync(...args)),
        exitCode: 0,
      });
      return kubelet({ ...ports, runtime: instead(ports.runtime, { execSync }) }, node);
    },
  },
  {
    name: "takes a trouble of its own for the application's",
    breaks: "[8]",
    scenario: "probes",
    agent: (ports, node) => {
      const http: typeof ports.prober.http = (...args) =>
        ports.clock.monotonicMs() > 15_000
          ? Promise.reject(new ProbeError("connect", "theirs", "no free port"))
          : ports.prober.http(...args);
      return kubelet({ ...ports, prober: instead(ports.prober, { http }) }, node);
    },
  },
];

describe("scenarios with probes detect a kubelet that", () => {
  for (const { name, breaks, agent, scenario: wanted } of mutants) {
    test(name, async () => {
      const scenario = withProbes.find((each) => each.name === wanted);
      assert.ok(scenario !== undefined, wanted);
      const { violations } = await play(scenario, { agent });
      assert.ok(
        violations.some((text) => text.includes(breaks)),
        `found only ${JSON.stringify(violations)}`,
      );
    });
  }
});
