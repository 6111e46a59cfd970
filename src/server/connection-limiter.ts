/**
 * Limits connections of unauthenticated clients: in total, per address, and in time. Authenticated connections are not
 * counted. Over a limit, the oldest connection of the busiest address is evicted, so that holding all connections locks
 * nobody out.
 */
import type { Socket } from "node:net";
import type { Clock } from "../ports/clock.ts";

export interface ConnectionLimits {
  readonly unauthenticatedMax: number;
  readonly unauthenticatedPerPeerMax: number;
  readonly unauthenticatedMsMax: number;
}

interface UnauthenticatedConnection {
  readonly port: number | undefined;
  readonly cancelEnd: () => void;
}

/** Oldest first. */
type UnauthenticatedConnections = Map<Socket, UnauthenticatedConnection>;
type Ends = Pick<Socket, "remoteAddress" | "remotePort">;

export class ConnectionLimiter {
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  readonly #unauthenticated = new Map<string, UnauthenticatedConnections>();
  readonly #sockets = new Set<Socket>();
  #unauthenticatedCount = 0;
  #evicted = 0;

  constructor(limits: ConnectionLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  get unauthenticated(): number {
    return this.#unauthenticatedCount;
  }

  /** Connections evicted for their number or their age. */
  get evicted(): number {
    return this.#evicted;
  }

  /** Whether the connection may stay; a rejected one is already closed. */
  admit(socket: Socket): boolean {
    const { remoteAddress: peer, remotePort: port } = socket;
    if (peer === undefined) {
      socket.destroy(); // Disconnected before we inspected it.
      return false;
    }
    this.#evictBeyondLimits(peer);
    const ofPeer = this.#unauthenticated.get(peer) ?? new Map<Socket, UnauthenticatedConnection>();
    const cancelEnd = this.#clock.after(this.#limits.unauthenticatedMsMax, () => this.#evict(peer, socket));
    ofPeer.set(socket, { port, cancelEnd });
    this.#unauthenticated.set(peer, ofPeer);
    this.#unauthenticatedCount += 1;
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#forget(peer, socket);
    });
    return true;
  }

  /** Stop counting this connection: its client is authenticated. */
  markAuthenticated(ends: Ends): void {
    const { peer, socket } = this.#find(ends) ?? {};
    if (peer !== undefined && socket !== undefined) this.#forget(peer, socket);
  }

  /** Removes the time limit. The connection of an anonymous client keeps counting. */
  markAuthorized(ends: Ends): void {
    this.#find(ends)?.connection.cancelEnd();
  }

  closeAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /**
   * By address and port, because TLS has wrapped the socket by then. Of two connections with the same port, the older
   * one is closing.
   */
  #find({ remoteAddress: peer, remotePort }: Ends) {
    if (peer === undefined) return undefined;
    const found = [...(this.#unauthenticated.get(peer) ?? [])].findLast(([, { port }]) => port === remotePort);
    return found === undefined ? undefined : { peer, socket: found[0], connection: found[1] };
  }

  #evictBeyondLimits(peer: string): void {
    const { unauthenticatedMax, unauthenticatedPerPeerMax } = this.#limits;
    if ((this.#unauthenticated.get(peer)?.size ?? 0) >= unauthenticatedPerPeerMax) this.#evictOldest(peer);
    if (this.#unauthenticatedCount < unauthenticatedMax) return;
    let [busiest, most] = [peer, 0];
    for (const [one, { size }] of this.#unauthenticated) if (size > most) [busiest, most] = [one, size];
    this.#evictOldest(busiest);
  }

  #evictOldest(peer: string): void {
    const oldest = this.#unauthenticated.get(peer)?.keys().next().value;
    if (oldest !== undefined) this.#evict(peer, oldest);
  }

  #evict(peer: string, socket: Socket): void {
    this.#evicted += 1;
    this.#forget(peer, socket);
    socket.destroy();
  }

  #forget(peer: string, socket: Socket): void {
    const ofPeer = this.#unauthenticated.get(peer);
    const connection = ofPeer?.get(socket);
    if (ofPeer === undefined || connection === undefined) return;
    connection.cancelEnd();
    ofPeer.delete(socket);
    this.#unauthenticatedCount -= 1;
    if (ofPeer.size === 0) this.#unauthenticated.delete(peer);
  }
}
