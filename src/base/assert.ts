/** A violated invariant of our own code: the process must stop. */
export class BugError extends Error {
  override readonly name = "BugError";
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new BugError(message);
}

/** Ends a switch over a union: a new member does not compile until it has a case. */
export function assertNever(value: never): never {
  throw new BugError(`unexpected value ${JSON.stringify(value)}`);
}
