/** Contract suite of the HttpFetch port: the one on Node.js clients against a real server, and the simulator's. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type HttpFetch, HttpFetchError } from "../../src/ports/http-fetch.ts";

/**
 * A server with these paths: /echo returns the X-Token header, /moved redirects to /echo, /circle redirects to itself,
 * /large returns 1001 bytes, /slow answers after a minute. Any other path returns 404.
 */
export interface HttpWorld {
  readonly http: HttpFetch;
  readonly url: string;
  /** A URL on which nothing listens. */
  readonly nobody: string;
  /** Advances a virtual clock; a real clock advances by itself. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

const limits = { headers: { "X-Token": ["a", "b"] }, limitMs: 500, bytesMax: 1000 };
const forever = new AbortController().signal;

export function httpFetchContract(name: string, open: () => Promise<HttpWorld>): void {
  const within = (title: string, run: (world: HttpWorld) => Promise<void>): void => {
    test(title, async () => {
      const world = await open();
      try {
        await run(world);
      } finally {
        await world.close();
      }
    });
  };

  describe(`${name} keeps the HttpFetch contract`, () => {
    within(
      "[4.6] fetches a document with every value of the given headers, also after a redirect",
      async ({ http, url }) => {
        for (const path of ["/echo", "/moved"]) {
          const { status, body } = await http.get(`${url}${path}`, limits, forever);
          assert.deepEqual([status, new TextDecoder().decode(body)], [200, "a, b"]);
        }
      },
    );

    within("returns any status without an error", async ({ http, url }) => {
      assert.equal((await http.get(`${url}/none`, limits, forever)).status, 404);
    });

    within("rejects a redirect loop", async ({ http, url }) => {
      await assert.rejects(http.get(`${url}/circle`, limits, forever), HttpFetchError);
    });

    within("[4.6] rejects a response larger than bytesMax", async ({ http, url }) => {
      await assert.rejects(http.get(`${url}/large`, limits, forever), HttpFetchError);
      assert.equal((await http.get(`${url}/large`, { ...limits, bytesMax: 1001 }, forever)).body.length, 1001);
    });

    within("[4.6] rejects a response later than limitMs", async (world) => {
      const late = assert.rejects(world.http.get(`${world.url}/slow`, limits, forever), HttpFetchError);
      await world.pass(600);
      await late;
    });

    within("rejects with HttpFetchError when nothing listens", async ({ http, nobody }) => {
      await assert.rejects(http.get(nobody, limits, forever), HttpFetchError);
    });

    within("an abort rejects with the caller's reason", async ({ http, url }) => {
      const stop = new AbortController();
      const fetched = http.get(`${url}/slow`, limits, stop.signal);
      stop.abort(new Error("shutdown"));
      await assert.rejects(fetched, /^Error: shutdown$/);
    });
  });
}
