import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { hostClock } from "../host/clock.ts";
import { CRI_MESSAGE_BYTES_MAX } from "../limits.ts";
import { connectCri } from "./client.ts";

const { signal } = new AbortController();

test("CRI client rejects a message over the size limit by its length prefix, and none of exactly the limit", async (t) => {
  let sizeBytes = CRI_MESSAGE_BYTES_MAX;
  const server = createServer().on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    const head = Buffer.alloc(5);
    head.writeUInt32BE(sizeBytes, 1);
    // The message itself is never sent.
    stream.end(head);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const endpoint = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cri = connectCri({ endpoint, onMalformed: () => {} }, hostClock);
  t.after(() => {
    cri.close();
    server.close();
  });
  await assert.rejects(cri.runtime.version(signal), { name: "RuntimeError", code: "unavailable" });
  sizeBytes += 1;
  await assert.rejects(cri.runtime.version(signal), (error: Error & { readonly code?: string }) => {
    assert.equal(error.code, "resourceExhausted");
    assert.match(error.message, new RegExp(`of ${sizeBytes} bytes exceeds the limit of ${CRI_MESSAGE_BYTES_MAX}`));
    return true;
  });
});
