/**
 * A network of guests: a switch in this process to which each guest's card is connected by a unix socket (qemu's
 * `-netdev stream`: four bytes of length, then the frame). The switch learns which card is behind which socket; it
 * knows no addresses but those of the cards.
 */
import { rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";

const LENGTH_BYTES = 4;
const FRAME_BYTES_MIN = 14;
/** More than any card sends: a client with a larger length uses another protocol. */
const FRAME_BYTES_MAX = 128 * 1024;
/** A card that does not read loses frames, as a real one does. */
const BACKLOG_BYTES_MAX = 4 * 2 ** 20;

export class EthernetSwitch {
  readonly #cards = new Set<Socket>();
  readonly #behind = new Map<string, Socket>();
  readonly #server: Server;
  /** The socket to which cards connect. */
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
    this.#server = createServer((card) => this.#plug(card));
  }

  static async open(path: string): Promise<EthernetSwitch> {
    const made = new EthernetSwitch(path);
    await new Promise<void>((resolve, reject) => {
      made.#server.once("error", reject);
      made.#server.listen(path, resolve);
    });
    return made;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const card of this.#cards) card.destroy();
    await closed;
    await rm(this.path, { force: true });
  }

  #plug(card: Socket): void {
    this.#cards.add(card);
    let pending = Buffer.alloc(0);
    card.on("data", (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      while (pending.length >= LENGTH_BYTES) {
        const length = pending.readUInt32BE();
        if (length < FRAME_BYTES_MIN || length > FRAME_BYTES_MAX) return void card.destroy();
        if (pending.length < LENGTH_BYTES + length) break;
        this.#forward(card, pending.subarray(0, LENGTH_BYTES + length));
        pending = pending.subarray(LENGTH_BYTES + length);
      }
    });
    // A detached card and a killed guest look the same here: the socket is closed next.
    card.on("error", () => {});
    card.on("close", () => {
      this.#cards.delete(card);
      for (const [address, behind] of this.#behind) if (behind === card) this.#behind.delete(address);
    });
  }

  #forward(from: Socket, framed: Buffer): void {
    const address = (offset: number) => framed.toString("hex", LENGTH_BYTES + offset, LENGTH_BYTES + offset + 6);
    this.#behind.set(address(6), from);
    const known = this.#behind.get(address(0));
    for (const card of known === undefined ? this.#cards : [known]) {
      if (card !== from && card.writableLength < BACKLOG_BYTES_MAX) card.write(framed);
    }
  }
}
