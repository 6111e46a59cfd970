import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { waitUntil } from "../../cluster/wait.ts";
import { EthernetSwitch } from "./ethernet-switch.ts";

const EVERYBODY = 0xff;

/** A frame between the cards whose addresses end with these bytes. Its length precedes it, as qemu writes it. */
function frame(to: number, from: number, text: string): Buffer {
  const address = (last: number) => Buffer.from(last === EVERYBODY ? Array(6).fill(EVERYBODY) : [2, 0, 0, 0, 0, last]);
  const content = Buffer.concat([address(to), address(from), Buffer.from([8, 0]), Buffer.from(text)]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
}

describe("a network of guests", () => {
  let directory: string;
  let network: EthernetSwitch;
  const cards: Socket[] = [];
  const heard: string[] = [];

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "deckhand-guest-switch-"));
    network = await EthernetSwitch.open(join(directory, "switch"));
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
    await rm(directory, { recursive: true });
  });

  const hears = (index: number, text: string) =>
    waitUntil(`card ${index} to hear ${text}`, 5_000, async () => heard[index]?.includes(text) === true);

  test("a broadcast frame, or a frame to an unknown address, goes to all other cards", async () => {
    cards[0]?.write(frame(EVERYBODY, 1, "who is there"));
    await Promise.all([hears(1, "who is there"), hears(2, "who is there")]);
    cards[0]?.write(frame(2, 1, "are you there"));
    await Promise.all([hears(1, "are you there"), hears(2, "are you there")]);
    assert.equal(heard[0], "");
  });

  test("a frame to a known address goes to that card only, in pieces or several at once", async () => {
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

  test("a client that does not send frames is disconnected, and the other cards stay connected", async () => {
    const otherClient = connect(network.path);
    otherClient.write("GET / HTTP/1.0\r\n\r\n");
    await new Promise<void>((resolve) => otherClient.once("close", () => resolve()));
    cards[0]?.write(frame(2, 1, "still here"));
    await hears(1, "still here");
  });
});
