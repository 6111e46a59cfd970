/** Kubelets that leak a little for every container they start, each in a way that goes unnoticed in JavaScript. */
import type { KubeletPorts } from "../src/app/wiring.ts";
import { instead } from "./mutants.ts";

export interface Leak {
  readonly name: string;
  /** The measure that must reveal the leak. */
  readonly shownBy: "listeners" | "promises" | "timers" | "heapBytes";
  readonly change: (ports: KubeletPorts) => KubeletPorts;
}

const DAY_MS = 86_400_000;
/** A leak seldom retains something small: a pod and its status hang on it. */
const KEPT_BYTES = 100_000;

const atEachStart =
  (begin: (ports: KubeletPorts) => (id: string) => void) =>
  (ports: KubeletPorts): KubeletPorts => {
    const keep = begin(ports);
    return {
      ...ports,
      runtime: instead(ports.runtime, {
        startContainer: async (id, signal) => {
          keep(id);
          await ports.runtime.startContainer(id, signal);
        },
      }),
    };
  };

export const leaks: readonly Leak[] = [
  {
    name: "listens to a signal that lasts, and never stops listening",
    shownBy: "listeners",
    change: atEachStart(() => {
      const { signal } = new AbortController();
      return () => signal.addEventListener("abort", () => signal.throwIfAborted(), { once: true });
    }),
  },
  {
    name: "races with a promise that lasts",
    shownBy: "promises",
    change: atEachStart(() => {
      const { promise } = Promise.withResolvers<string>();
      return (id) => void Promise.race([promise, Promise.resolve(id)]);
    }),
  },
  {
    name: "sets a timer and never takes it back",
    shownBy: "timers",
    change: atEachStart(
      ({ clock }) =>
        () =>
          void clock.after(DAY_MS, () => {}),
    ),
  },
  {
    name: "notes what it did in a table, and forgets nothing",
    shownBy: "heapBytes",
    change: atEachStart(() => {
      const notes = new Map<string, readonly number[]>();
      return (id) =>
        void notes.set(
          id,
          Array.from({ length: KEPT_BYTES / 8 }, (_, index) => index + 0.5),
        );
    }),
  },
];
