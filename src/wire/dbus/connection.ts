/**
 * One connection to a D-Bus bus, or to a peer that speaks the protocol without a bus.
 *
 * Replies are matched to calls by serial number. Signals reach their listeners in the order of arrival, before any
 * later reply. A malformed message ends the connection. When the connection ends, all pending calls are rejected, and
 * so is every later call.
 */
import { connect, type Socket } from "node:net";
import { errorText } from "../../base/error-text.ts";
import { type DbusMessage, decodeMessage, encodeMessage, messageLength } from "./message.ts";
import type { DbusValue } from "./signature.ts";

/** The error reply of the other side. */
export class DbusError extends Error {
  override readonly name = "DbusError";
  readonly errorName: string;
  constructor(errorName: string, detail: string) {
    super(detail === "" ? errorName : `${errorName}: ${detail}`);
    this.errorName = errorName;
  }
}

/** The connection has ended: whether a call took effect is unknown. */
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
  /** The sender's well-known name; without a bus there is only one possible sender. */
  readonly sender: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  /** The signature of the body; a signal with another signature is ignored. */
  readonly signature: string;
}

export interface DbusOptions {
  /** The path of the socket; an abstract one begins with a NUL character. */
  readonly socketPath: string;
  /** A bus expects a Hello call and match rules for signals. */
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

/** Rejects if nobody listens on the socket, or if authentication fails. */
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
  /**
   * The owner of each name that is listened to; messages carry the owner as their sender. The bus itself has only one
   * name, which nobody else can own.
   */
  readonly #owners = new Map<string, DbusValue | undefined>([[BUS.destination, BUS.destination]]);
  #received: Buffer = Buffer.alloc(0);
  #serial = 0;
  /** Undefined once authentication is complete and messages flow. */
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

  /** Resolves once, with the reason why the connection ended. */
  get ended(): Promise<DbusClosedError> {
    return this.#ended.promise;
  }

  /**
   * Authenticates with our UID, which the other side verifies through the kernel. Called once, before anything else.
   */
  async begin(signal: AbortSignal): Promise<void> {
    const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString("hex");
    this.#socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
    await this.#letIn?.promise;
    if (this.#isBus) await this.call({ ...BUS, member: "Hello" }, signal);
  }

  /** Rejects with a `DbusError` if that is the reply, and with a `DbusClosedError` if no reply can come any more. */
  call(call: MethodCall, signal: AbortSignal): Promise<readonly DbusValue[]> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#end !== undefined) return Promise.reject(this.#end);
    this.#serial += 1;
    const serial = this.#serial;
    const { destination, ...rest } = call;
    const bytes = encodeMessage({
      ...rest,
      // Without a bus there is only one possible destination.
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
   * No matching signal is missed once this resolves. The returned function removes the listener; the bus keeps sending.
   * Anyone on a bus may send us arbitrary messages: only signals that match the rule reach the listener.
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

  /** Tracks the owner of the name, now and whenever it changes, as it does when a service restarts. */
  async #follow(name: string, signal: AbortSignal): Promise<void> {
    if (this.#owners.has(name)) return;
    const learn: Listener = ([of, , owner]) => void (of === name && this.#owners.set(name, owner));
    this.#listening.add({ rule: OWNER_CHANGED, listener: learn });
    await this.#match(OWNER_CHANGED, `,arg0='${name}'`, signal);
    const [owner] = await this.call({ ...BUS, member: "GetNameOwner", signature: "s", body: [name] }, signal);
    // An owner change that arrived meanwhile is newer than the reply.
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
    this.#end = new DbusClosedError(`the connection to D-Bus is closed: ${errorText(cause)}`, { cause });
    this.#letIn?.reject(cause);
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#ended.resolve(this.#end);
    this.#socket.destroy();
  }
}
