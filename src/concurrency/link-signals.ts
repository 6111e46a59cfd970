/**
 * Creates a child signal of longer-lived parents. `AbortSignal.any` keeps every child for as long as a long-lived
 * parent lives (nodejs/node#54614); here the child is unlinked when its work is done.
 */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
}

export function linkSignals(...parents: readonly AbortSignal[]): LinkedSignal {
  const child = new AbortController();
  const links: (() => void)[] = [];
  for (const parent of parents) {
    if (parent.aborted) {
      child.abort(parent.reason);
      break;
    }
    const onAbort = () => child.abort(parent.reason);
    parent.addEventListener("abort", onAbort, { once: true });
    links.push(() => parent.removeEventListener("abort", onAbort));
  }
  return {
    signal: child.signal,
    abort: (reason) => child.abort(reason),
    [Symbol.dispose]: () => {
      for (const unlink of links.splice(0)) unlink();
    },
  };
}
