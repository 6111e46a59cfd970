import assert from "node:assert/strict";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import { createGunzip } from "node:zlib";
import { expositionText } from "../../../test/support/exposition.ts";
import type { Family } from "../../base/metrics/family.ts";
import { answerMetrics } from "./answer-metrics.ts";

/** Many times the buffer of a connection. */
const families: readonly Family[] = Array.from({ length: 40 }, (_, family) => ({
  name: `container_family_${family}`,
  help: "Of many.",
  kind: "gauge",
  samples: Array.from({ length: 2_000 }, (_, row) => ({
    labels: [["id", `/kubepods/${"x".repeat(80)}/${row}`]],
    more: [["cpu", "total"]],
    value: row * family,
    atWallMs: 1_700_000_000_000 + row,
  })),
}));

/** A server for one response, whose outcome is `answered`. */
async function begin() {
  const gone = new AbortController();
  const answered = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const asked = { request, parts: {}, query: new URLSearchParams(), signal: gone.signal };
    response.on("close", () => {
      if (!response.writableFinished) gone.abort(new Error("the client is gone"));
    });
    answerMetrics(asked, response, families).then(answered.resolve, answered.reject);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    answered: answered.promise,
    ask: (headers: Readonly<Record<string, string>> = {}) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        get({ host: "127.0.0.1", port, headers, agent: false }, resolve).on("error", reject);
      }),
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

void suite("a response with many metric families", () => {
  test("[21.5] is complete, plain and gzipped", async () => {
    for (const encoding of ["identity", "gzip"]) {
      using server = await begin();
      const response = await server.ask({ "accept-encoding": encoding });
      const text = await textOf(encoding === "gzip" ? response.pipe(createGunzip()) : response);
      assert.ok(text === expositionText(families, "text"), `${encoding}: ${text.length} letters`);
      await server.answered;
    }
  });

  test("is aborted with the reason when the client disconnects", async () => {
    for (const encoding of ["identity", "gzip"]) {
      using server = await begin();
      const response = await server.ask({ "accept-encoding": encoding });
      const refused = assert.rejects(server.answered, /the client is gone/);
      response.destroy();
      await refused;
    }
  });
});
