/** For commands that start clusters: everything that has started is taken down before they exit. */

/**
 * Aborted by the first SIGINT, SIGTERM or SIGHUP. A second signal of the same kind ends the process at once, and the
 * next `up` or `down` cleans up.
 */
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
