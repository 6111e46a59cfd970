/** Contract suite of the KernelMessages port. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KernelMessage, KernelMessages } from "../../src/ports/kernel-messages.ts";

export interface KernelMessagesWorld {
  readonly messages: KernelMessages;
  readonly say: (...lines: readonly string[]) => Promise<void>;
  /** Makes the messages unreadable. */
  readonly close: () => Promise<void>;
  /** Lets time pass until a reader has received all messages. */
  readonly pass: () => Promise<void>;
}

export function kernelMessagesContract(name: string, begin: () => Promise<KernelMessagesWorld>): void {
  describe(`${name} keeps the contract of the KernelMessages port`, () => {
    test("follow yields retained messages, then new ones, numbered consecutively, until the signal aborts", async () => {
      const { messages, say, pass } = await begin();
      await messages.requireReadable();
      await say("one", "two; and: a half");
      const stop = new AbortController();
      const seen: KernelMessage[] = [];
      const reading = (async () => {
        for await (const message of messages.follow(stop.signal)) seen.push(message);
      })();
      await pass();
      assert.deepEqual(
        seen.map(({ text }) => text),
        ["one", "two; and: a half"],
      );
      await say("three");
      await pass();
      assert.equal(seen.at(-1)?.text, "three");
      const [first = 0] = seen.map(({ sequence }) => sequence);
      assert.deepEqual(
        seen.map(({ sequence }) => sequence - first),
        [0, 1, 2],
      );
      stop.abort(new Error("enough"));
      await assert.rejects(reading, { message: "enough" });

      const again: string[] = [];
      const second = new AbortController();
      const rereading = (async () => {
        for await (const { text } of messages.follow(second.signal)) again.push(text);
      })();
      await pass();
      second.abort(new Error("enough"));
      await assert.rejects(rereading, { message: "enough" });
      assert.deepEqual(again, ["one", "two; and: a half", "three"], "a second reader receives them again");
    });

    test("rejects when the kernel log cannot be read", async () => {
      const { messages, close } = await begin();
      await close();
      await assert.rejects(messages.requireReadable());
      const first = messages.follow(new AbortController().signal)[Symbol.asyncIterator]().next();
      await assert.rejects(first);
    });
  });
}
