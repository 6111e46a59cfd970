/**
 * One test for each mutant of an area. A mutant is found if a test fails a comparison with the recordings and passes
 * without the mutation. The control runs once for each suite, with the cases of all mutants of that area.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { figure } from "../figures.ts";
import { DIFFERS_FROM_RECORDING } from "../golden/recording.ts";
import type { MutantArea } from "./mutant.ts";
import type { Outcome } from "./outcome-reporter.ts";
import { differs, joined, MutatedCopy } from "./run-mutant.ts";

export function proveArea({ area, mutants }: MutantArea): void {
  void describe(area, () => {
    const bySuite = Map.groupBy(mutants, ({ suite }) => suite);
    const passing = new Map<string, ReadonlySet<string>>();
    let copy: MutatedCopy;

    before(() => {
      copy = new MutatedCopy();
    });
    after(() => copy[Symbol.dispose]());

    for (const [suite, own] of bySuite) {
      test(`${area}: without a mutation, ${suite} answers as the Go kubelet does`, async () => {
        const outcomes = await copy.run(joined(own));
        assert.deepEqual(outcomes.filter(differs), []);
        passing.set(suite, new Set(outcomes.filter(({ passed }) => passed).map(({ name }) => name)));
      });
    }

    for (const mutant of mutants) {
      test(`${area}: ${mutant.name}`, async () => {
        const control = passing.get(mutant.suite) ?? assert.fail(`${mutant.suite} fails without a mutation`);
        const startedMs = performance.now();
        const outcomes = await copy.runMutant(mutant);
        figure("one mutant", Math.round((performance.now() - startedMs) / 1000), "s");
        const found = outcomes.filter((one) => differs(one) && control.has(one.name));
        assert.ok(found.length > 0, `no comparison failed:\n${shown(outcomes)}`);
        console.log(`${mutant.name}: found by "${questionIn(found[0]?.message ?? "")}"`);
      });
    }
  });
}

const questionIn = (message: string): string =>
  message
    .split("\n")
    .find((line) => line.includes(DIFFERS_FROM_RECORDING))
    ?.split(`: ${DIFFERS_FROM_RECORDING}`)[0] ?? "";

const shown = (outcomes: readonly Outcome[]): string =>
  outcomes
    .map(({ name, passed, message }) => `${passed ? "passed" : "failed"} ${name} ${message.slice(0, 500)}`)
    .join("\n");
