/** A broken promise of our own code: the only right answer is to stop. */
export class BugError extends Error {
  override readonly name = "BugError";
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new BugError(message);
}

/** Closes a switch over a union: a new member then does not compile until it has a case. */
export function assertNever(value: never): never {
  throw new BugError(`unexpected value ${JSON.stringify(value)}`);
}
