/**
 * How many connections there may be from those who have not said who they are, in all and from one address, and for how long. Who has proven
 * to be somebody counts no longer. With one too many, the oldest of the address that has most is cut off: to hold what there is of
 * connections keeps nobody else out.
 */
import type { Socket } from "node:net";
import type { Clock } from "../ports/clock.ts";

export interface DoorLimits {
  readonly strangersMax: number;
  readonly strangersPerPeerMax: number;
  readonly strangerMsMax: number;
}

interface Stranger {
  readonly port: number | undefined;
  readonly cancelEnd: () => void;
}

/** From the oldest to the youngest. */
type Strangers = Map<Socket, Stranger>;
type Ends = Pick<Socket, "remoteAddress" | "remotePort">;

export class Doorkeeper {
  readonly #limits: DoorLimits;
  readonly #clock: Clock;
  readonly #strangers = new Map<string, Strangers>();
  readonly #sockets = new Set<Socket>();
  #strangerCount = 0;
  #turnedAway = 0;

  constructor(limits: DoorLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  get strangers(): number {
    return this.#strangerCount;
  }

  /** Those who had to go, for their number or their age. */
  get turnedAway(): number {
    return this.#turnedAway;
  }

  /** Whether the connection may stay; one that may not is closed already. */
  admit(socket: Socket): boolean {
    const { remoteAddress: peer, remotePort: port } = socket;
    if (peer === undefined) {
      socket.destroy(); // Gone before we looked.
      return false;
    }
    this.#makeRoom(peer);
    const ofPeer = this.#strangers.get(peer) ?? new Map<Socket, Stranger>();
    const cancelEnd = this.#clock.after(this.#limits.strangerMsMax, () => this.#turnAway(peer, socket));
    ofPeer.set(socket, { port, cancelEnd });
    this.#strangers.set(peer, ofPeer);
    this.#strangerCount += 1;
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#forget(peer, socket);
    });
    return true;
  }

  /** It is somebody's, and counts no longer. */
  recognise(ends: Ends): void {
    const { peer, socket } = this.#find(ends) ?? {};
    if (peer !== undefined && socket !== undefined) this.#forget(peer, socket);
  }

  /** It got in without a name: it goes on counting, and its age is no longer held against it. */
  letIn(ends: Ends): void {
    this.#find(ends)?.stranger.cancelEnd();
  }

  closeAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** By address and port, since the socket itself is wrapped by then. Of two with the same port the older is at its end. */
  #find({ remoteAddress: peer, remotePort }: Ends) {
    if (peer === undefined) return undefined;
    const found = [...(this.#strangers.get(peer) ?? [])].findLast(([, { port }]) => port === remotePort);
    return found === undefined ? undefined : { peer, socket: found[0], stranger: found[1] };
  }

  #makeRoom(peer: string): void {
    const { strangersMax, strangersPerPeerMax } = this.#limits;
    if ((this.#strangers.get(peer)?.size ?? 0) >= strangersPerPeerMax) this.#turnAwayOldest(peer);
    if (this.#strangerCount < strangersMax) return;
    let [crowd, most] = [peer, 0];
    for (const [one, { size }] of this.#strangers) if (size > most) [crowd, most] = [one, size];
    this.#turnAwayOldest(crowd);
  }

  #turnAwayOldest(peer: string): void {
    const oldest = this.#strangers.get(peer)?.keys().next().value;
    if (oldest !== undefined) this.#turnAway(peer, oldest);
  }

  #turnAway(peer: string, socket: Socket): void {
    this.#turnedAway += 1;
    this.#forget(peer, socket);
    socket.destroy();
  }

  #forget(peer: string, socket: Socket): void {
    const ofPeer = this.#strangers.get(peer);
    const stranger = ofPeer?.get(socket);
    if (ofPeer === undefined || stranger === undefined) return;
    stranger.cancelEnd();
    ofPeer.delete(socket);
    this.#strangerCount -= 1;
    if (ofPeer.size === 0) this.#strangers.delete(peer);
  }
}
