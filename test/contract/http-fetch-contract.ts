/** What every HttpFetch keeps: the one on Node's clients, against a real server, and the simulator's. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type HttpFetch, HttpFetchError } from "../../src/ports/http-fetch.ts";

/**
 * A server with these pages: /echo answers with the header X-Token, /moved redirects to /echo, /circle to itself, /large has 1001 bytes,
 * /slow answers after a minute; any other is a 404.
 */
export interface HttpWorld {
  readonly http: HttpFetch;
  readonly url: string;
  /** Where nobody listens. */
  readonly nobody: string;
  /** Lets so much time pass, where time does not pass by itself. */
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
      "[4.6] a document is fetched with every value of the headers given, also where it has moved to",
      async ({ http, url }) => {
        for (const path of ["/echo", "/moved"]) {
          const { status, body } = await http.get(`${url}${path}`, limits, forever);
          assert.deepEqual([status, new TextDecoder().decode(body)], [200, "a, b"]);
        }
      },
    );

    within("any status is an answer", async ({ http, url }) => {
      assert.equal((await http.get(`${url}/none`, limits, forever)).status, 404);
    });

    within("redirects in a circle end", async ({ http, url }) => {
      await assert.rejects(http.get(`${url}/circle`, limits, forever), HttpFetchError);
    });

    within("[4.6] an answer that is too large is refused", async ({ http, url }) => {
      await assert.rejects(http.get(`${url}/large`, limits, forever), HttpFetchError);
      assert.equal((await http.get(`${url}/large`, { ...limits, bytesMax: 1001 }, forever)).body.length, 1001);
    });

    within("[4.6] an answer that is too late is refused", async (world) => {
      const late = assert.rejects(world.http.get(`${world.url}/slow`, limits, forever), HttpFetchError);
      await world.pass(600);
      await late;
    });

    within("a server that is not there is an error of the port", async ({ http, nobody }) => {
      await assert.rejects(http.get(nobody, limits, forever), HttpFetchError);
    });

    within("the caller's abort ends it with the caller's reason", async ({ http, url }) => {
      const stop = new AbortController();
      const fetched = http.get(`${url}/slow`, limits, stop.signal);
      stop.abort(new Error("shutdown"));
      await assert.rejects(fetched, /^Error: shutdown$/);
    });
  });
}
