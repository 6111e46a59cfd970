import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { HttpFetchError } from "../../ports/http-fetch.ts";
import { hostClock } from "../host/clock.ts";
import { createHttpFetch } from "./http-fetch.ts";

async function serving(listener: RequestListener, run: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const limits = { headers: {}, limitMs: 2000, bytesMax: 1000 };
const http = createHttpFetch(hostClock);
const forever = new AbortController().signal;
const textOf = (body: Uint8Array) => new TextDecoder().decode(body);

test("[4.6] a document is fetched with the headers given, each value of them", async () => {
  await serving(
    (request, response) => response.end(`${request.method} ${request.url} ${request.headers["x-token"] as string}`),
    async (url) => {
      const answer = await http.get(`${url}/pods`, { ...limits, headers: { "X-Token": ["a", "b"] } }, forever);
      assert.deepEqual([answer.status, textOf(answer.body)], [200, "GET /pods a, b"]);
    },
  );
});

test("[4.6] redirects are followed, a circle of them is not, and any other status is an answer", async () => {
  await serving(
    (request, response) => {
      const target = { "/a": "/b", "/circle": "/circle" }[request.url ?? ""];
      response.writeHead(target === undefined ? 404 : 302, target === undefined ? {} : { location: target });
      response.end("gone");
    },
    async (url) => {
      assert.equal((await http.get(`${url}/a`, limits, forever)).status, 404);
      await assert.rejects(http.get(`${url}/circle`, limits, forever), /stopped after 10 redirects/);
    },
  );
});

test("[4.6] an answer that is too large or too late is refused", async () => {
  await serving(
    (request, response) => {
      if (request.url === "/large") response.end("x".repeat(1001));
    },
    async (url) => {
      await assert.rejects(http.get(`${url}/large`, limits, forever), /larger than 1000 bytes/);
      const late = http.get(`${url}/late`, { ...limits, limitMs: 50 }, forever);
      await assert.rejects(
        late,
        (error) => error instanceof HttpFetchError && /no answer within 50 ms/.test(error.message),
      );
    },
  );
});

test("a server that is not there, and a URL of another kind, are errors of the port", async () => {
  await assert.rejects(http.get("http://127.0.0.1:1/", limits, forever), HttpFetchError);
  await assert.rejects(http.get("file:///etc/passwd", limits, forever), HttpFetchError);
});

test("the caller's abort ends it with the caller's reason", async () => {
  await serving(
    () => {},
    async (url) => {
      const stop = new AbortController();
      const fetched = http.get(url, limits, stop.signal);
      stop.abort(new Error("shutdown"));
      await assert.rejects(fetched, /shutdown/);
    },
  );
});
