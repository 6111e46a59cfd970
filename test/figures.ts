/** How a test reports a number it measured: it lands in the record of the run, and in the report of a proof. */
import { getTestContext } from "node:test";

export function figure(name: string, value: number, unit: string): void {
  const context = getTestContext();
  if (context === undefined || !("diagnostic" in context))
    throw new Error(`figure "${name}" was reported outside a test`);
  context.diagnostic(`figure ${JSON.stringify({ test: context.fullName, name, value, unit })}`);
}
