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
  readonly exit?: Ending & {
    /** Begun at this time of the world or later, it ends well. */
    readonly wellFromMs?: number;
  };
  /** What ends it, by the signal's name. Other signals do nothing, as to a first process without a handler. */
  readonly onSignal?: Readonly<Record<string, Ending>>;
  /** How much memory it takes. Above its limit it is killed. */
  readonly memoryBytes?: number;
  /** What it answers to whoever asks how it is, from each of these ages on, in order. Left out, or before the first: nobody listens. */
  readonly answers?: readonly { readonly fromMs: number; readonly health: Health }[];
  /** Stuck in the kernel: not even SIGKILL ends it. */
  readonly unkillable?: boolean;
}

/** What begins like this is a hook's when it is asked for. */
export const HOOK_PATHS = "/hooks/";

/** A status of HTTP, or it takes the question and says nothing. */
export type Health = number | "silent";

export const isWell = (health: Health | undefined): boolean =>
  typeof health === "number" && health >= 200 && health < 400;

export const healthAt = ({ answers = [] }: Behaviour, ageMs: number): Health | undefined =>
  answers.findLast(({ fromMs }) => fromMs <= ageMs)?.health;

/** A command that asks the container's own process how it is. */
export const HEALTH_COMMAND: readonly string[] = ["/sim/health"];

/** What that command does. */
export function healthCommand(health: Health | undefined): Behaviour {
  if (health === "silent") return { onSignal: {} };
  return { stdout: `it says ${health ?? "nothing"}`, exit: { afterMs: 5, code: isWell(health) ? 0 : 1 } };
}

interface Ending {
  readonly afterMs: number;
  readonly code: number;
}

export const SERVER: Behaviour = { onSignal: { SIGTERM: { afterMs: 0, code: 0 } } };

const SCRIPT = "/sim/script";

export const scripted = (behaviour: Behaviour): readonly string[] => [SCRIPT, JSON.stringify(behaviour)];

/** Of a command that a pod carries; of one that is no script, nothing. */
export const scriptOf = (command: readonly string[] = []): Behaviour => parseScript(command) ?? {};

/** Undefined for a command that is no script. */
export function parseScript(argv: readonly string[]): Behaviour | undefined {
  return argv[0] === SCRIPT ? (JSON.parse(argv[1] ?? "{}") as Behaviour) : undefined;
}
