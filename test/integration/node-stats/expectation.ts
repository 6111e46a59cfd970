/** The value that the kernel reports before and after the request to the node. */

/** A counter lies between the two readings. A gauge lies between them or at most `slack` outside. */
export interface Expectation<T> {
  readonly kind: "counter" | "gauge";
  readonly slack: number;
  readonly of: (at: T) => number;
}

export const counter = <T>(of: (at: T) => number): Expectation<T> => ({ kind: "counter", slack: 0, of });
export const gauge = <T>(slack: number, of: (at: T) => number): Expectation<T> => ({ kind: "gauge", slack, of });
export const exactly = <T>(of: (at: T) => number): Expectation<T> => gauge(0, of);

/** Seconds are sums of nanoseconds and are rounded separately. */
const ROUNDING = 1e-6;

/** Returns why the value is wrong, or undefined if it is right. */
export function wrong<T>(value: unknown, { kind, slack, of }: Expectation<T>, before: T, after: T): string | undefined {
  const [first, second] = [of(before), of(after)];
  const room = slack + ROUNDING;
  const [least, most] = kind === "counter" ? [first, second] : [Math.min(first, second), Math.max(first, second)];
  const isRight = typeof value === "number" && value >= least - room && value <= most + room;
  return isRight
    ? undefined
    : `${String(value)} is reported; the kernel says ${first}, then ${second}, give or take ${slack}`;
}
