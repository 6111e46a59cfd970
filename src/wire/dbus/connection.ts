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
  /** By the name it is known under; without a bus there is only one who could send. */
  readonly sender: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  /** Of its body: one of another is not heard. */
  readonly signature: string;
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
const OWNER_CHANGED = {
  sender: BUS.destination,
  path: BUS.path,
  interface: BUS.interface,
  member: "NameOwnerChanged",
  signature: "sss",
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

interface Listening {
  readonly rule: SignalRule;
  readonly listener: Listener;
}

export class DbusConnection {
  readonly #socket: Socket;
  readonly #isBus: boolean;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listening = new Set<Listening>();
  /** By the names that are listened to, as whom their messages come. The bus itself has but one name, which nobody else gets. */
  readonly #owners = new Map<string, DbusValue | undefined>([[BUS.destination, BUS.destination]]);
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

  /**
   * From the moment it resolves no such signal is missed. The returned function ends it here; the bus goes on sending. Anybody on a bus may send us
   * whatever they like: only what the rule says is heard.
   */
  async listen(rule: SignalRule, listener: Listener, signal: AbortSignal): Promise<() => void> {
    const listening = { rule, listener };
    this.#listening.add(listening);
    if (this.#isBus) {
      await this.#follow(rule.sender, signal);
      await this.#match(rule, "", signal);
    }
    return () => this.#listening.delete(listening);
  }

  /** Who has the name, now and whenever it goes to another, as it does when a service begins anew. */
  async #follow(name: string, signal: AbortSignal): Promise<void> {
    if (this.#owners.has(name)) return;
    const learn: Listener = ([of, , owner]) => void (of === name && this.#owners.set(name, owner));
    this.#listening.add({ rule: OWNER_CHANGED, listener: learn });
    await this.#match(OWNER_CHANGED, `,arg0='${name}'`, signal);
    const [owner] = await this.call({ ...BUS, member: "GetNameOwner", signature: "s", body: [name] }, signal);
    // A change that was heard meanwhile is newer than the answer.
    if (!this.#owners.has(name)) this.#owners.set(name, owner);
  }

  async #match(rule: SignalRule, more: string, signal: AbortSignal): Promise<void> {
    const parts = (["sender", "path", "interface", "member"] as const).map((part) => `${part}='${rule[part]}'`);
    const match = `type='signal',${parts.join(",")}${more}`;
    await this.call({ ...BUS, member: "AddMatch", signature: "s", body: [match] }, signal);
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
      for (const { rule, listener } of this.#listening) if (this.#isMeant(rule, message)) listener(message.body);
      return;
    }
    const waiting = this.#waiting.get(message.replyTo ?? 0);
    if (message.kind === "reply") waiting?.resolve(message.body);
    if (message.kind === "error") {
      const [detail] = message.body;
      waiting?.reject(new DbusError(message.errorName ?? "", typeof detail === "string" ? detail : ""));
    }
  }

  #isMeant(rule: SignalRule, message: DbusMessage): boolean {
    if (this.#isBus && message.sender !== this.#owners.get(rule.sender)) return false;
    return (["path", "interface", "member", "signature"] as const).every(
      (part) => (message[part] ?? "") === rule[part],
    );
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
