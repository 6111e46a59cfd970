/**
 * How a test reports a number that it measured: the number appears in the record of the run and in the report of a
 * proof.
 */
import { beforeEach, getTestContext, type TestContext } from "node:test";

/**
 * Deterministic suites run without the async hook by which a test finds its context after an await. Their tests run one
 * by one.
 */
let running: TestContext | undefined;
beforeEach((context) => {
  running = context as TestContext;
});

export function figure(name: string, value: number, unit: string): void {
  const context = getTestContext() ?? running;
  if (context === undefined || !("diagnostic" in context))
    throw new Error(`figure "${name}" was reported outside a test`);
  context.diagnostic(`figure ${JSON.stringify({ test: context.fullName, name, value, unit })}`);
}
