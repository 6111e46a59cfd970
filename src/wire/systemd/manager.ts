/**
 * systemd's manager. Units are started and stopped by jobs: a call here has ended when its job has.
 *
 * One connection serves all calls and is made anew when it has ended; a call that was lost with it is made once more, which does no harm: what has been
 * started exists, what has been stopped is gone. Every call has a limit of time, and none outlives the process' own end.
 */
import { errorText } from "../../base/error-text.ts";
import { RecentMap } from "../../base/recent-map.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import type { Clock } from "../../ports/clock.ts";
import { DbusClosedError, type DbusConnection, DbusError } from "../dbus/connection.ts";
import type { DbusValue, DbusVariant } from "../dbus/signature.ts";

export type UnitProperty = readonly [name: string, value: DbusVariant];

interface ManagerOptions {
  readonly connect: (signal: AbortSignal) => Promise<DbusConnection>;
  readonly clock: Clock;
  readonly shutdown: AbortSignal;
}

const CALL_MS_MAX = 30_000;
const MANAGER = {
  destination: "org.freedesktop.systemd1",
  path: "/org/freedesktop/systemd1",
  interface: "org.freedesktop.systemd1.Manager",
} as const;
/** Which are younger than the oldest systemd that a node may have. Their values are in the group's files all the same. */
const KNOWN_SINCE: ReadonlyMap<string, number> = new Map([
  ["CPUQuotaPeriodUSec", 242],
  ["AllowedCPUs", 244],
]);
const UNIT_EXISTS = "org.freedesktop.systemd1.UnitExists";
const NO_SUCH_UNIT = "org.freedesktop.systemd1.NoSuchUnit";
/** What systemd does with a job that is already queued for the unit. */
const MODE = "replace";
const DONE = "done";
const JOB_REMOVED = {
  sender: MANAGER.destination,
  path: MANAGER.path,
  interface: MANAGER.interface,
  member: "JobRemoved",
  signature: "uoss",
} as const;

export class SystemdManager {
  readonly #options: ManagerOptions;
  #session: Promise<Session> | undefined;

  constructor(options: ManagerOptions) {
    this.#options = options;
  }

  /** Content with a unit that is there. */
  async startTransient(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    await this.#ask(`start ${unit}`, this.#options.shutdown, async (session, signal) => {
      try {
        const body = [unit, MODE, properties, []];
        const result = await session.runJob("StartTransientUnit", "ssa(sv)a(sa(sv))", body, signal);
        if (result === DONE) return;
        await session.forget(unit, signal);
        throw new Error(`its job ended as ${JSON.stringify(result)}`);
      } catch (error) {
        if (!isDbusError(error, UNIT_EXISTS)) throw error;
      }
    });
  }

  /** Until the machine restarts. What this systemd is too old to know is left out: one word it does not know, and it takes none. */
  async setProperties(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    await this.#ask(`set properties of ${unit}`, this.#options.shutdown, async (session, signal) => {
      const known = properties.filter(([name]) => session.version >= (KNOWN_SINCE.get(name) ?? 0));
      if (known.length > 0) await session.call("SetUnitProperties", "sba(sv)", [unit, true, known], signal);
    });
  }

  /** Content with a unit that is not there. */
  async stop(unit: string, shutdown: AbortSignal): Promise<void> {
    await this.#ask(`stop ${unit}`, shutdown, async (session, signal) => {
      try {
        const result = await session.runJob("StopUnit", "ss", [unit, MODE], signal);
        if (result !== DONE) await session.forget(unit, signal);
      } catch (error) {
        if (!isDbusError(error, NO_SUCH_UNIT)) throw error;
      }
    });
  }

  async close(): Promise<void> {
    const session = await this.#session?.catch(() => undefined);
    session?.connection.close();
  }

  async #ask(
    what: string,
    parent: AbortSignal,
    run: (session: Session, signal: AbortSignal) => Promise<unknown>,
  ): Promise<void> {
    const attempt = () =>
      withDeadline(this.#options.clock, CALL_MS_MAX, parent, async (signal) => {
        const session = await unlessAborted(this.#open(), signal);
        await run(session, signal);
      });
    try {
      await attempt().catch((error: unknown) => {
        if (!(error instanceof DbusClosedError)) throw error;
        return attempt();
      });
    } catch (error) {
      parent.throwIfAborted();
      throw new Error(`systemd cannot ${what}: ${errorText(error)}`, { cause: error });
    }
  }

  /** Shared by all who ask meanwhile. */
  #open(): Promise<Session> {
    const opening =
      this.#session ??
      withDeadline(this.#options.clock, CALL_MS_MAX, this.#options.shutdown, async (signal) =>
        Session.begin(await this.#options.connect(signal), signal),
      );
    this.#session = opening;
    const forget = () => {
      if (this.#session === opening) this.#session = undefined;
    };
    return opening.then(
      (session) => {
        if (session.connection.isOpen) return session;
        forget();
        return this.#open();
      },
      (error: unknown) => {
        forget();
        throw error;
      },
    );
  }
}

const isDbusError = (error: unknown, name: string) => error instanceof DbusError && error.errorName === name;

function textOf(value: DbusValue | undefined): string {
  if (typeof value !== "string") throw new Error("systemd said something else than a text");
  return value;
}

interface Waiting extends PromiseWithResolvers<string> {
  readonly job: string;
}

/** One connection, with the jobs that were heard to end on it. */
class Session {
  readonly connection: DbusConnection;
  /** Of systemd, such as 255. */
  #version = 0;
  /** Several may wait for one job: systemd makes one of two that are alike. */
  readonly #waiting = new Set<Waiting>();
  /** A job may end before we have read its name. */
  readonly #ended = new RecentMap<string, string>(1000);

  private constructor(connection: DbusConnection) {
    this.connection = connection;
  }

  static async begin(connection: DbusConnection, signal: AbortSignal): Promise<Session> {
    const session = new Session(connection);
    try {
      await connection.listen(
        JOB_REMOVED,
        ([, job, , result]) => session.#jobEnded(textOf(job), textOf(result)),
        signal,
      );
      session.#version = await session.#readVersion(signal);
    } catch (error) {
      connection.close();
      throw error;
    }
    void connection.ended.then((error) => {
      for (const { reject } of session.#waiting) reject(error);
    });
    return session;
  }

  get version(): number {
    return this.#version;
  }

  /** Distributions write it as "v245.4-1.fc32" or "245"; one that cannot be read counts as the oldest. */
  async #readVersion(signal: AbortSignal): Promise<number> {
    const body = [MANAGER.interface, "Version"];
    const of = { ...MANAGER, interface: "org.freedesktop.DBus.Properties", member: "Get", signature: "ss", body };
    const [answer] = await this.connection.call(of, signal);
    const text = textOf((answer as DbusVariant | undefined)?.value);
    return Number(/^v?(\d+)/.exec(text)?.[1] ?? 0);
  }

  call(member: string, signature: string, body: readonly DbusValue[], signal: AbortSignal) {
    return this.connection.call({ ...MANAGER, member, signature, body }, signal);
  }

  /** How the job ended that the call made. */
  async runJob(member: string, signature: string, body: readonly DbusValue[], signal: AbortSignal): Promise<string> {
    const [answer] = await this.call(member, signature, body, signal);
    const job = textOf(answer);
    const ended = this.#ended.get(job);
    if (ended !== undefined) return ended;
    const waiting = { job, ...Promise.withResolvers<string>() };
    this.#waiting.add(waiting);
    if (!this.connection.isOpen) waiting.reject(await this.connection.ended);
    try {
      return await unlessAborted(waiting.promise, signal);
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  /** systemd keeps a unit that failed until somebody has taken note. */
  async forget(unit: string, signal: AbortSignal): Promise<void> {
    try {
      await this.call("ResetFailedUnit", "s", [unit], signal);
    } catch (error) {
      if (!isDbusError(error, NO_SUCH_UNIT)) throw error;
    }
  }

  #jobEnded(job: string, result: string): void {
    this.#ended.set(job, result);
    for (const waiting of this.#waiting) if (waiting.job === job) waiting.resolve(result);
  }
}
