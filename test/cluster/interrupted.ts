/** For commands that start clusters: what has started is taken down before they end. */

/** Aborted by the first signal that asks us to end. The second of a kind ends us at once, and the next `up` or `down` cleans up. */
export function interrupted(what: string, say: (line: string) => void): AbortSignal {
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      say(`${signal}: taking down what has started`);
      interrupt.abort(new Error(`${what} was ended by ${signal}`));
    });
  }
  return interrupt.signal;
}
