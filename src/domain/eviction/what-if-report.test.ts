import assert from "node:assert/strict";
import { test } from "node:test";
import { pod } from "../../../test/support/pods.ts";
import { parseThresholds } from "../../app/options/eviction-thresholds.ts";
import type { Observations } from "../node/pressure.ts";
import { evictionThresholds } from "./thresholds.ts";
import { whatIf } from "./what-if.ts";
import { hypotheticalAmounts, NOTHING_MET, parseWhatIfReport, whatIfReport, whatIfText } from "./what-if-report.ts";

const MIB = 2n ** 20n;
const OBSERVED: Observations = new Map([
  ["memory.available", { available: 900n * MIB, capacity: 1000n * MIB, atMonotonicMs: 0 }],
]);

test("[17.5] amounts are quantities or percentages of the capacity; others are refused with the signal's name", () => {
  const amount = (text: string) => hypotheticalAmounts([["memory.available", text]], OBSERVED).get("memory.available");
  assert.equal(amount("80Mi"), 80n * MIB);
  assert.equal(amount("5%"), 50n * MIB);
  assert.throws(() => amount("-1"), { name: "AmountFault", message: /negative/ });
  assert.throws(() => amount("much"), { name: "AmountFault", message: /^much: quantities must match/ });
  assert.throws(() => hypotheticalAmounts([["disk", "1"]], OBSERVED), /disk is not an eviction signal/);
  assert.throws(() => hypotheticalAmounts([["pid.available", "1"]], OBSERVED), /pid\.available is not measured/);
});

test("[17.5] the report names the thresholds and the victims in their order, and survives the socket", () => {
  const settings = { hard: parseThresholds({ "memory.available": "100Mi" }), soft: [], minReclaims: new Map() };
  const named = (name: string) => {
    const one = pod();
    return { ...one, metadata: { ...one.metadata, name, uid: name } };
  };
  const ask = (available: bigint) =>
    whatIf({
      thresholds: evictionThresholds(settings, { enforcesPods: false, layout: "shared" }),
      available: new Map([["memory.available", available]]),
      observations: OBSERVED,
      layout: "shared",
      pods: [named("a"), named("b")],
      statsOf: () => undefined,
      maxPodGraceSeconds: 0,
    });
  assert.equal(ask(200n * MIB), undefined);
  assert.equal(whatIfText(NOTHING_MET), "No threshold would be met: nothing would be evicted.\n");
  const report = whatIfReport(ask(80n * MIB), "working-set");
  assert.equal(report.met[0]?.signal, "memory.available");
  assert.equal(report.victims.length, 2);
  assert.deepEqual(parseWhatIfReport(JSON.stringify(report)), report);
  assert.match(whatIfText(report), /1\. \S+\/a \(usage unknown, request 0, priority 0\)\n +2\. \S+\/b /);
  assert.throws(() => parseWhatIfReport("{}"), /no report/);
});
