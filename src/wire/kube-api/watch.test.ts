import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiUnreachableError } from "../../ports/api-error.ts";
import { WATCH_LINE_BYTES_MAX } from "../limits.ts";
import type { Exchange } from "./exchange.ts";
import { readWatch } from "./watch.ts";

const MIB = 2 ** 20;
/** The same bytes are sent again and again: a line as long as the limit takes no memory. */
const part = Buffer.alloc(MIB, " ");

/** A watch whose only line has this many bytes and no newline. */
async function failureOf(lineBytes: number) {
  let leftBytes = lineBytes;
  let cancelled = 0;
  const exchange = {
    chunk: async () => {
      if (leftBytes === 0) return undefined;
      const chunk = part.subarray(0, leftBytes);
      leftBytes -= chunk.length;
      return chunk;
    },
    cancel: () => {
      cancelled += 1;
    },
  } as unknown as Exchange;
  const failure = await readWatch("watch pods", exchange, new AbortController().signal)
    .next()
    .catch((error: unknown) => error);
  assert.ok(failure instanceof ApiUnreachableError);
  assert.equal(cancelled, 1);
  return failure.message;
}

test("a watch accepts an event line of exactly the limit and ends on a longer one", async () => {
  assert.match(await failureOf(WATCH_LINE_BYTES_MAX), /the watch ended inside an event/);
  assert.match(
    await failureOf(WATCH_LINE_BYTES_MAX + 1),
    new RegExp(`a line of more than ${WATCH_LINE_BYTES_MAX} bytes`),
  );
});
