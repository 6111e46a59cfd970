/**
 * A reporter for node:test, which loads a module's default export: one line of JSON for each test, with the message of
 * its failure.
 */
import type { TestEvent } from "node:test/reporters";

export interface Outcome {
  readonly name: string;
  readonly passed: boolean;
  /** The failure's message; empty if the test passed. */
  readonly message: string;
}

export default async function* outcomes(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    const error = "error" in data.details ? data.details.error : undefined;
    const cause = error?.cause ?? error;
    const message = cause instanceof Error ? cause.message : (JSON.stringify(cause) ?? "");
    yield `${JSON.stringify({ name: data.name, passed: type === "test:pass", message } satisfies Outcome)}\n`;
  }
}
