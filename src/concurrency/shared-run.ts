/**
 * One run for all who ask at a time, where any that began after the asking will do: those who ask while one is under way share the next. A run that
 * fails has failed for those who share it, and for nobody after them.
 */
export function sharedRun<T>(run: () => Promise<T>): () => Promise<T> {
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
