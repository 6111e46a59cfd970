/**
 * A unix socket that carries one JSON message per line: the protocol of qemu's monitor and of the runner in a guest.
 */
import { connect, type Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";

export interface Lines {
  send(message: object): void;
  close(): Promise<void>;
}

export interface LinesEars {
  onMessage(message: unknown): void;
  /** Called once, when no more messages can come. */
  onEnd(trouble: Error): void;
}

/** Ignores lines that are not JSON: a client that connects in the middle of a line sees its second half first. */
export function connectLines(path: string, ears: LinesEars): Promise<Lines> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(path);
    const decoder = new StringDecoder("utf8");
    const parts: string[] = [];
    let trouble: Error | undefined;
    socket.on("data", (chunk: Buffer) => {
      const pieces = decoder.write(chunk).split("\n");
      for (const [index, piece] of pieces.entries()) {
        parts.push(piece);
        if (index === pieces.length - 1) break;
        const message = parsed(parts.splice(0).join(""));
        if (message !== undefined) ears.onMessage(message);
      }
    });
    socket.on("error", (error) => {
      trouble = error;
      reject(error);
    });
    socket.on("close", () => ears.onEnd(trouble ?? new Error(`${path} was closed from the other end`)));
    socket.once("connect", () =>
      resolve({
        send: (message) => socket.write(`${JSON.stringify(message)}\n`),
        close: () =>
          new Promise((closed) => {
            if (socket.closed) return closed();
            socket.once("close", () => closed());
            socket.destroy();
          }),
      }),
    );
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
