import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { type HttpWorld, httpFetchContract } from "../../../test/contract/http-fetch-contract.ts";
import { HttpFetchError } from "../../ports/http-fetch.ts";
import { hostClock } from "../host/clock.ts";
import { MANIFEST_REDIRECTS_MAX } from "../limits.ts";
import { createHttpFetch } from "./http-fetch.ts";

async function serve(
  pages: Readonly<Record<string, (response: ServerResponse, token: string, password: string) => void>>,
): Promise<HttpWorld> {
  const server = createServer((request, response) => {
    const page = pages[request.url ?? ""];
    if (page === undefined) response.writeHead(404).end();
    else page(response, String(request.headers["x-token"]), String(request.headers.authorization));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    http: createHttpFetch(hostClock),
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    nobody: "http://127.0.0.1:1/",
    pass: () => Promise.resolve(),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const to = (location: string) => (response: ServerResponse) => response.writeHead(302, { location }).end();

httpFetchContract("Node's HTTP", () =>
  serve({
    "/echo": (response, token) => response.end(token),
    "/moved": to("/echo"),
    "/circle": to("/circle"),
    "/large": (response) => response.end("x".repeat(1001)),
    "/slow": () => {},
  }),
);

test("a redirect to another server keeps custom headers and drops Authorization", async () => {
  const other = await serve({ "/": (response, token, password) => response.end(`${token} ${password}`) });
  const first = await serve({ "/": to(`${other.url}/`) });
  const headers = { "X-Token": ["plain"], Authorization: ["Bearer secret"] };
  try {
    const options = { headers, limitMs: 2000, bytesMax: 1000 };
    const { body } = await first.http.get(`${first.url}/`, options, new AbortController().signal);
    assert.equal(new TextDecoder().decode(body), "plain undefined");
  } finally {
    await Promise.all([first.close(), other.close()]);
  }
});

test("redirects are followed up to the limit, and one more is an error", async () => {
  const last = `/${MANIFEST_REDIRECTS_MAX + 1}`;
  const hops = Array.from({ length: MANIFEST_REDIRECTS_MAX + 1 }, (_, hop) => [`/${hop}`, to(`/${hop + 1}`)] as const);
  const served = await serve({
    ...Object.fromEntries(hops),
    [last]: (response) => response.end("found"),
  });
  const get = (path: string) =>
    served.http.get(
      `${served.url}${path}`,
      { headers: {}, limitMs: 2000, bytesMax: 1000 },
      new AbortController().signal,
    );
  try {
    assert.equal(new TextDecoder().decode((await get("/1")).body), "found");
    await assert.rejects(get("/0"), (error: unknown) => {
      assert.ok(error instanceof HttpFetchError);
      assert.match(error.message, new RegExp(`stopped after ${MANIFEST_REDIRECTS_MAX} redirects`));
      return true;
    });
  } finally {
    await served.close();
  }
});

test("a URL that is neither http nor https is rejected", async () => {
  const options = { headers: {}, limitMs: 2000, bytesMax: 1000 };
  const fetched = createHttpFetch(hostClock).get("file:///etc/passwd", options, new AbortController().signal);
  await assert.rejects(fetched, HttpFetchError);
});
