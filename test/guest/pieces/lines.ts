/** A unix socket that carries one message of JSON per line: both the monitor of qemu and the runner in a guest speak so. */
import { connect, type Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";

export interface Lines {
  send(message: object): void;
  close(): Promise<void>;
}

export interface LinesEars {
  onMessage(message: unknown): void;
  /** Once, when no more can come. */
  onEnd(trouble: Error): void;
}

/** Lines that are not JSON are passed over: whoever connects in the middle of one sees its second half first. */
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
