/**
 * One connection to a bus, or to a peer that speaks as one does.
 *
 * Answers are matched with calls by their numbers; signals reach those who listen in the order they came, before any answer behind them. What is malformed ends
 * the connection. Once it has ended everything that waits is told, and whoever asks later too.
 */
import { connect, type Socket } from "node:net";
import { errorText } from "../../base/error-text.ts";
import { type DbusMessage, decodeMessage, encodeMessage, messageLength } from "./message.ts";
import type { DbusValue } from "./signature.ts";

/** What the other side answered instead of a result. */
export class DbusError extends Error {
  override readonly name = "DbusError";
  readonly errorName: string;
  constructor(errorName: string, detail: string) {
    super(detail === "" ? errorName : `${errorName}: ${detail}`);
    this.errorName = errorName;
  }
}

/** The connection is over: whether a call took effect is not known. */
export class DbusClosedError extends Error {
  override readonly name = "DbusClosedError";
}

interface MethodCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
}

interface SignalRule {
  readonly interface: string;
  readonly member: string;
}

export interface DbusOptions {
  /** Of a socket; an abstract one begins with a zero. */
  readonly socketPath: string;
  /** A bus wants to be greeted, and asked for signals. */
  readonly isBus: boolean;
}

const BUS = {
  destination: "org.freedesktop.DBus",
  path: "/org/freedesktop/DBus",
  interface: "org.freedesktop.DBus",
} as const;

/** Rejects when there is nobody, or when we are not let in. */
export async function connectDbus(options: DbusOptions, signal: AbortSignal): Promise<DbusConnection> {
  signal.throwIfAborted();
  const socket = connect(options.socketPath);
  const giveUp = () => socket.destroy(signal.reason instanceof Error ? signal.reason : new Error("given up"));
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    const connection = new DbusConnection(socket, options.isBus);
    await connection.begin(signal);
    return connection;
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw new Error(`cannot reach D-Bus at ${options.socketPath}: ${errorText(error)}`, { cause: error });
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

interface Waiting {
  readonly resolve: (body: readonly DbusValue[]) => void;
  readonly reject: (error: unknown) => void;
}

type Listener = (body: readonly DbusValue[]) => void;

export class DbusConnection {
  readonly #socket: Socket;
  readonly #isBus: boolean;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Map<string, Set<Listener>>();
  #received: Buffer = Buffer.alloc(0);
  #serial = 0;
  /** Undefined once messages flow. */
  #letIn: PromiseWithResolvers<void> | undefined = Promise.withResolvers();
  #end: DbusClosedError | undefined;
  readonly #ended = Promise.withResolvers<DbusClosedError>();

  constructor(socket: Socket, isBus: boolean) {
    this.#socket = socket;
    this.#isBus = isBus;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => this.#close(error));
    socket.on("close", () => this.#close(new Error("the other side ended the connection")));
  }

  get isOpen(): boolean {
    return this.#end === undefined;
  }

  /** Settles once, with why it is over. */
  get ended(): Promise<DbusClosedError> {
    return this.#ended.promise;
  }

  /** Shows who we are: the other side asks the kernel whether it is true. Once, before anything else. */
  async begin(signal: AbortSignal): Promise<void> {
    const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString("hex");
    this.#socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
    await this.#letIn?.promise;
    if (this.#isBus) await this.call({ ...BUS, member: "Hello" }, signal);
  }

  /** Rejects with a `DbusError` where that is the answer, and with a `DbusClosedError` where there can be none any more. */
  call(call: MethodCall, signal: AbortSignal): Promise<readonly DbusValue[]> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#end !== undefined) return Promise.reject(this.#end);
    this.#serial += 1;
    const serial = this.#serial;
    const { destination, ...rest } = call;
    const bytes = encodeMessage({
      ...rest,
      // Without a bus there is only one who could be meant.
      ...(this.#isBus ? { destination } : {}),
      kind: "call",
      serial,
      body: call.body ?? [],
    });
    const answer = Promise.withResolvers<readonly DbusValue[]>();
    const giveUp = () => answer.reject(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    this.#waiting.set(serial, answer);
    this.#socket.write(bytes);
    return answer.promise.finally(() => {
      signal.removeEventListener("abort", giveUp);
      this.#waiting.delete(serial);
    });
  }

  /** From the moment it resolves no such signal is missed. The returned function ends it here; the bus goes on sending. */
  async listen(rule: SignalRule, listener: Listener, signal: AbortSignal): Promise<() => void> {
    const key = keyOf(rule);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    const match = `type='signal',interface='${rule.interface}',member='${rule.member}'`;
    if (this.#isBus) await this.call({ ...BUS, member: "AddMatch", signature: "s", body: [match] }, signal);
    return () => listeners.delete(listener);
  }

  close(): void {
    this.#close(new Error("it was closed here"));
  }

  #take(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    try {
      if (this.#letIn !== undefined) this.#takeGreeting(this.#letIn);
      while (this.#letIn === undefined) {
        const length = messageLength(this.#received);
        if (length === undefined || this.#received.length < length) return;
        const message = decodeMessage(this.#received.subarray(0, length));
        this.#received = this.#received.subarray(length);
        if (message !== undefined) this.#handle(message);
      }
    } catch (error) {
      this.#close(error);
    }
  }

  #takeGreeting(letIn: PromiseWithResolvers<void>): void {
    const end = this.#received.indexOf("\r\n");
    if (end === -1) return;
    const line = this.#received.toString("latin1", 0, end);
    if (!line.startsWith("OK ")) throw new Error(`it does not let us in: ${line}`);
    this.#received = this.#received.subarray(end + 2);
    this.#letIn = undefined;
    this.#socket.write("BEGIN\r\n");
    letIn.resolve();
  }

  #handle(message: DbusMessage): void {
    if (message.kind === "signal") {
      const key = keyOf({ interface: message.interface ?? "", member: message.member ?? "" });
      for (const listener of this.#listeners.get(key) ?? []) listener(message.body);
      return;
    }
    const waiting = this.#waiting.get(message.replyTo ?? 0);
    if (message.kind === "reply") waiting?.resolve(message.body);
    if (message.kind === "error") {
      const [detail] = message.body;
      waiting?.reject(new DbusError(message.errorName ?? "", typeof detail === "string" ? detail : ""));
    }
  }

  #close(cause: unknown): void {
    if (this.#end !== undefined) return;
    this.#end = new DbusClosedError(`the connection to D-Bus is over: ${errorText(cause)}`, { cause });
    this.#letIn?.reject(cause);
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#ended.resolve(this.#end);
    this.#socket.destroy();
  }
}

const keyOf = (rule: SignalRule) => `${rule.interface}.${rule.member}`;
