/**
 * What a process of the simulator does, as data. A container or an exec carries its behavior in its command:
 * `scripted({ exit: { afterMs: 300, code: 1 } })` is an argv that any pod can carry. A command without a script is
 * looked up in the world's own table. Without an entry there the process is a server that exits with code 0 on SIGTERM.
 */
export interface Behaviour {
  /** Why the command cannot be started. */
  readonly cannotStart?: string;
  /** How long starting takes. */
  readonly startMs?: number;
  /** Written at the start: text or bytes. */
  readonly stdout?: string | readonly number[];
  readonly stderr?: string;
  /** Name of a variable whose value is written at the start. */
  readonly printVariable?: string;
  /** Interval between lines of output. */
  readonly tickEveryMs?: number;
  /** How the process exits by itself. Omitted: it keeps running. */
  readonly exit?: Ending & {
    /** A process that starts at this time of the world or later exits successfully. */
    readonly wellFromMs?: number;
  };
  /** Exits by the signal's name. Other signals do nothing, as for a PID 1 without a handler. */
  readonly onSignal?: Readonly<Record<string, Ending>>;
  /** How much memory the process uses. Above its limit it is OOM-killed. */
  readonly memoryBytes?: number;
  /** What the process uses of its node, by its age, in ascending order. Omitted, or before the first age: nothing. */
  readonly uses?: readonly ({ readonly fromMs: number } & Partial<Use>)[];
  /** The process's health answers by its age, in ascending order. Omitted, or before the first age: nothing listens. */
  readonly answers?: readonly { readonly fromMs: number; readonly health: Health }[];
  /** Stuck in the kernel: not even SIGKILL ends it. */
  readonly unkillable?: boolean;
}

/** Of the node's memory, process IDs and disk. */
export interface Use {
  readonly memoryBytes: number;
  /** Child processes. */
  readonly children: number;
  /** Of the container's writable layer, which outlives the process. */
  readonly layerBytes: number;
}

const NO_USE: Use = { memoryBytes: 0, children: 0, layerBytes: 0 };

export const useAt = ({ uses = [] }: Behaviour, ageMs: number): Use => ({
  ...NO_USE,
  ...uses.findLast(({ fromMs }) => fromMs <= ageMs),
});

export const totalUse = (uses: readonly Use[]): Use =>
  uses.reduce(
    (sum, each) => ({
      memoryBytes: sum.memoryBytes + each.memoryBytes,
      children: sum.children + each.children,
      layerBytes: sum.layerBytes + each.layerBytes,
    }),
    NO_USE,
  );

/** Requests for paths with this prefix count as hook calls. */
export const HOOK_PATHS = "/hooks/";

/** An HTTP status; "silent": the process accepts the request and does not answer. */
export type Health = number | "silent";

export const isWell = (health: Health | undefined): boolean =>
  typeof health === "number" && health >= 200 && health < 400;

export const healthAt = ({ answers = [] }: Behaviour, ageMs: number): Health | undefined =>
  answers.findLast(({ fromMs }) => fromMs <= ageMs)?.health;

/** A command that reports the health of the container's main process. */
export const HEALTH_COMMAND: readonly string[] = ["/sim/health"];

/** The behavior of that command. */
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

/** The behavior that a pod's command carries; empty for a command that is no script. */
export const scriptOf = (command: readonly string[] = []): Behaviour => parseScript(command) ?? {};

/** Undefined for a command that is no script. */
export function parseScript(argv: readonly string[]): Behaviour | undefined {
  return argv[0] === SCRIPT ? (JSON.parse(argv[1] ?? "{}") as Behaviour) : undefined;
}
