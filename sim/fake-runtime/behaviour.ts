/**
 * What a process of the simulator does, as data. A container or an exec says it with its command: `scripted({ exit: { afterMs: 300,
 * code: 1 } })` is an argv that any pod can carry. A command that says nothing is looked up in the world's own table, and without an entry
 * there it is a server that ends well when asked to.
 */
export interface Behaviour {
  /** Why the command cannot be started. */
  readonly cannotStart?: string;
  /** How long starting takes. */
  readonly startMs?: number;
  /** Written at once: text or bytes. */
  readonly stdout?: string | readonly number[];
  readonly stderr?: string;
  /** Written at once: the value of this variable. */
  readonly printVariable?: string;
  /** A line of output, again and again. */
  readonly tickEveryMs?: number;
  /** How it ends by itself. Left out, it runs on. */
  readonly exit?: Ending;
  /** What ends it, by the signal's name. Other signals do nothing, as to a first process without a handler. */
  readonly onSignal?: Readonly<Record<string, Ending>>;
  /** How much memory it takes. Above its limit it is killed. */
  readonly memoryBytes?: number;
  /** Stuck in the kernel: not even SIGKILL ends it. */
  readonly unkillable?: boolean;
}

interface Ending {
  readonly afterMs: number;
  readonly code: number;
}

export const SERVER: Behaviour = { onSignal: { SIGTERM: { afterMs: 0, code: 0 } } };

const SCRIPT = "/sim/script";

export const scripted = (behaviour: Behaviour): readonly string[] => [SCRIPT, JSON.stringify(behaviour)];

/** Undefined for a command that is no script. */
export function parseScript(argv: readonly string[]): Behaviour | undefined {
  return argv[0] === SCRIPT ? (JSON.parse(argv[1] ?? "{}") as Behaviour) : undefined;
}
