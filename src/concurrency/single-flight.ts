/**
 * Shares one run between all callers that need a run started after their call. Callers that arrive during a run share
 * the next one. A failed run fails for the callers that share it and for no later ones.
 */
export function singleFlight<T>(run: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    const mine = run().finally(() => {
      if (current === mine) current = undefined;
    });
    current = mine;
    return mine;
  };
  const begun = () => {
    next = undefined;
    return begin();
  };
  return () => {
    if (current === undefined) return begin();
    next ??= current.then(begun, begun);
    return next;
  };
}
