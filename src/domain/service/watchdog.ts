/** The service manager's watchdog settings from environment variables, as systemd and the Go kubelet read them. */

export type Watchdog =
  | { readonly kind: "off" }
  /** Notify the service manager at this interval: half of the timeout after which it would kill the process. */
  | { readonly kind: "on"; readonly everyMs: number }
  /** The settings are invalid: the kubelet does not start. */
  | { readonly kind: "wrong"; readonly fault: string };

const LIMIT_MS_MIN = 1_000;
const INTEGER = /^[+-]?\d+$/;

export function watchdogOf(
  { WATCHDOG_USEC: limit = "", WATCHDOG_PID: watched = "" }: Readonly<Record<string, string | undefined>>,
  pid: number,
): Watchdog {
  if (limit === "") return { kind: "off" };
  if (!INTEGER.test(limit))
    return wrong(`configure watchdog: error converting WATCHDOG_USEC: ${JSON.stringify(limit)}`);
  const limitMs = Number(limit) / 1_000;
  if (limitMs <= 0) return wrong("configure watchdog: error WATCHDOG_USEC must be a positive number");
  if (watched !== "" && !INTEGER.test(watched)) {
    return wrong(`configure watchdog: error converting WATCHDOG_PID: ${JSON.stringify(watched)}`);
  }
  if (watched !== "" && Number(watched) !== pid) return { kind: "off" };
  if (limitMs <= LIMIT_MS_MIN) return wrong(`configure watchdog timeout too small: ${limitMs}ms`);
  return { kind: "on", everyMs: limitMs / 2 };
}

const wrong = (fault: string): Watchdog => ({ kind: "wrong", fault: `create health checker: ${fault}` });
