/**
 * Calls systemd's manager. Jobs start and stop units: a call here ends when its job has ended.
 *
 * One connection serves all calls, and is opened again when it has ended. A call that was lost with the connection is
 * repeated once, which is harmless: a started unit exists, and a stopped one is gone. Every call has a time limit, and
 * none outlives the process's shutdown.
 */
import { errorText } from "../../base/error-text.ts";
import { RecentMap } from "../../base/recent-map.ts";
import { raceAbort } from "../../concurrency/abort.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
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
/**
 * Properties that the oldest systemd of a node may lack, and the version that added each. The cgroup files have their
 * values anyway.
 */
const KNOWN_SINCE: ReadonlyMap<string, number> = new Map([
  ["CPUQuotaPeriodUSec", 242],
  ["AllowedCPUs", 244],
]);
const UNIT_EXISTS = "org.freedesktop.systemd1.UnitExists";
const NO_SUCH_UNIT = "org.freedesktop.systemd1.NoSuchUnit";
/** How systemd handles a job that is already queued for the unit. */
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

  /** Succeeds if the unit already exists. */
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

  /**
   * Applies until the machine restarts. Properties that this systemd is too old for are left out: one unknown property
   * makes it reject them all.
   */
  async setProperties(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    await this.#ask(`set properties of ${unit}`, this.#options.shutdown, async (session, signal) => {
      const known = properties.filter(([name]) => session.version >= (KNOWN_SINCE.get(name) ?? 0));
      if (known.length > 0) await session.call("SetUnitProperties", "sba(sv)", [unit, true, known], signal);
    });
  }

  /** Succeeds if the unit does not exist. */
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
        const session = await raceAbort(this.#open(), signal);
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

  /** Concurrent callers share one attempt. */
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

/** One connection, with the jobs whose end was observed on it. */
class Session {
  readonly connection: DbusConnection;
  /** The version of systemd, such as 255. */
  #version = 0;
  /** Several callers may wait for one job: systemd merges two identical jobs. */
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

  /** Distributions write it as "v245.4-1.fc32" or "245"; an unreadable version counts as the oldest. */
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

  /** Makes the call and returns the result of its job. */
  async runJob(member: string, signature: string, body: readonly DbusValue[], signal: AbortSignal): Promise<string> {
    const [answer] = await this.call(member, signature, body, signal);
    const job = textOf(answer);
    const ended = this.#ended.get(job);
    if (ended !== undefined) return ended;
    const waiting = { job, ...Promise.withResolvers<string>() };
    this.#waiting.add(waiting);
    if (!this.connection.isOpen) waiting.reject(await this.connection.ended);
    try {
      return await raceAbort(waiting.promise, signal);
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  /** systemd keeps a failed unit until it is reset. */
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
