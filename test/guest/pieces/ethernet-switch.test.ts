import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { waitUntil } from "../../cluster/wait.ts";
import { EthernetSwitch } from "./ethernet-switch.ts";

const EVERYBODY = 0xff;

/** From and to cards whose addresses end so; the length stands before it, as qemu writes it. */
function frame(to: number, from: number, text: string): Buffer {
  const address = (last: number) => Buffer.from(last === EVERYBODY ? Array(6).fill(EVERYBODY) : [2, 0, 0, 0, 0, last]);
  const content = Buffer.concat([address(to), address(from), Buffer.from([8, 0]), Buffer.from(text)]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
}

describe("a network of guests", () => {
  let folder: string;
  let network: EthernetSwitch;
  const cards: Socket[] = [];
  const heard: string[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "deckhand-guest-switch-"));
    network = await EthernetSwitch.open(join(folder, "switch"));
    for (const index of [0, 1, 2]) {
      const card = connect(network.path);
      heard[index] = "";
      card.on("data", (chunk: Buffer) => {
        heard[index] += chunk.toString("latin1");
      });
      cards.push(card);
      await new Promise<void>((resolve) => card.once("connect", resolve));
    }
  });
  after(async () => {
    await network.close();
    await rm(folder, { recursive: true });
  });

  const hears = (index: number, text: string) =>
    waitUntil(`card ${index} to hear ${text}`, 5_000, async () => heard[index]?.includes(text) === true);

  test("a frame for everybody, or for one not seen yet, goes to all others", async () => {
    cards[0]?.write(frame(EVERYBODY, 1, "who is there"));
    await Promise.all([hears(1, "who is there"), hears(2, "who is there")]);
    cards[0]?.write(frame(2, 1, "are you there"));
    await Promise.all([hears(1, "are you there"), hears(2, "are you there")]);
    assert.equal(heard[0], "");
  });

  test("one that has been seen gets its own alone, in pieces or several at once", async () => {
    cards[1]?.write(frame(1, 2, "I am"));
    await hears(0, "I am");
    const two = Buffer.concat([frame(2, 1, "first"), frame(2, 1, "second"), frame(EVERYBODY, 1, "end")]);
    cards[0]?.write(two.subarray(0, 7));
    await new Promise((resolve) => setTimeout(resolve, 20));
    cards[0]?.write(two.subarray(7));
    await Promise.all([hears(1, "end"), hears(2, "end")]);
    assert.match(heard[1] ?? "", /first[^]*second[^]*end/);
    assert.doesNotMatch(heard[2] ?? "", /first|second|I am/);
  });

  test("who does not speak in frames is cut off, and the others go on", async () => {
    const stranger = connect(network.path);
    stranger.write("GET / HTTP/1.0\r\n\r\n");
    await new Promise<void>((resolve) => stranger.once("close", () => resolve()));
    cards[0]?.write(frame(2, 1, "still here"));
    await hears(1, "still here");
  });
});
