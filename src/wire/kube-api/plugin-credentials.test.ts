import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import type { ExecPlugin, PluginCredentials } from "../../domain/identity/exec-credential.ts";
import { CredentialSources, PluginCredentialSource } from "./plugin-credentials.ts";

const plugin: ExecPlugin = {
  apiVersion: "client.authentication.k8s.io/v1",
  command: "get-token",
  args: [],
  env: [],
  installHint: "",
  cluster: undefined,
};

type Result = PluginCredentials | Error;

function world() {
  const clock = new ManualClock();
  const logged: string[] = [];
  const runs: { readonly end: (result: Result) => void; readonly signal: AbortSignal }[] = [];
  const source = new PluginCredentialSource(plugin, {
    clock,
    random: { fraction: () => 0.5, uuid: () => assert.fail("unexpected uuid") },
    log: {
      info: () => assert.fail("unexpected info"),
      error: (message, error) => void logged.push(`${message}: ${String(error)}`),
    },
    run: (_plugin, signal) =>
      new Promise((resolve, reject) => {
        runs.push({ end: (result) => (result instanceof Error ? reject(result) : resolve(result)), signal });
      }),
  });
  const token = (name: string, lifetimeMs?: number): PluginCredentials => ({
    token: name,
    certificate: undefined,
    expiresWallMs: lifetimeMs === undefined ? undefined : clock.wallMs() + lifetimeMs,
  });
  const end = async (index: number, result: Result) => {
    runs[index]?.end(result);
    await clock.advance(0);
  };
  const tokenNow = async () => (await source.credentials()).token;
  return { clock, logged, runs, source, token, end, tokenNow };
}

describe("[2.8] credentials of a plugin", () => {
  test("are fetched once for all requests, and again only when a fifth of their lifetime is left", async () => {
    const { clock, runs, token, end, tokenNow } = world();
    const [first, second] = [tokenNow(), tokenNow()];
    await end(0, token("one", 60_000));
    assert.deepEqual([await first, await second, runs.length], ["one", "one", 1]);
    await clock.advance(47_999);
    assert.deepEqual([await tokenNow(), runs.length], ["one", 1]);
    await clock.advance(1);
    assert.deepEqual([await tokenNow(), await tokenNow(), runs.length], ["one", "one", 2]);
    await end(1, token("two", 60_000));
    assert.equal(await tokenNow(), "two");
  });

  test("without an end of their validity stay until the API server rejects them", async () => {
    const { clock, runs, source, token, end, tokenNow } = world();
    const first = source.credentials();
    await end(0, token("one"));
    await clock.advance(86_400_000);
    assert.deepEqual([await tokenNow(), runs.length], ["one", 1]);
    const renewed = source.renew(await first);
    await end(1, token("two"));
    assert.deepEqual([await renewed, await tokenNow()], [true, "two"]);
    assert.equal(await source.renew(await first), true, "another request has renewed them already");
    assert.equal(runs.length, 2);
  });

  test("that are rejected although they are new do not run the plugin more than once a second", async () => {
    const { clock, runs, source, token, end } = world();
    void source.credentials();
    await end(0, token("one"));
    const now = await source.credentials();
    assert.deepEqual([await source.renew(now), runs.length], [false, 1]);
    await clock.advance(1_000);
    void source.renew(now);
    assert.equal(runs.length, 2);
  });

  test("stay in use while they are valid when the plugin fails, which is logged and retried with a back-off", async () => {
    const { clock, runs, logged, token, end, tokenNow } = world();
    const first = tokenNow();
    await end(0, token("one", 60_000));
    await first;
    await clock.advance(50_000);
    assert.equal(await tokenNow(), "one");
    await end(1, new Error("exec: it broke"));
    assert.deepEqual([await tokenNow(), runs.length], ["one", 2]);
    await clock.advance(1_000);
    assert.deepEqual([await tokenNow(), runs.length], ["one", 3]);
    await end(2, new Error("exec: it broke again"));
    await clock.advance(1_999);
    assert.deepEqual([await tokenNow(), runs.length], ["one", 3]);
    await clock.advance(1);
    assert.deepEqual([await tokenNow(), runs.length], ["one", 4]);
    assert.match(logged[0] ?? "", /^The credential plugin failed: Error: getting credentials: exec: it broke$/);
    assert.match(logged[1] ?? "", /: exec: it broke again$/);
    await clock.advance(60_000);
    const waiting = tokenNow();
    await end(3, token("two", 60_000));
    assert.equal(await waiting, "two");
  });

  test("that cannot be had reject the request with the plugin's error, also during the back-off", async () => {
    const { clock, runs, end, tokenNow } = world();
    const first = tokenNow();
    await Promise.all([
      assert.rejects(first, { message: "getting credentials: exec: executable get-token not found" }),
      end(0, new Error("exec: executable get-token not found")),
    ]);
    await assert.rejects(tokenNow(), /executable get-token not found/);
    assert.equal(runs.length, 1);
    await clock.advance(1_000);
    void tokenNow().catch(() => {});
    assert.equal(runs.length, 2);
  });

  test("abort the plugin when the source is closed", async () => {
    const { runs, source, tokenNow, end } = world();
    const waiting = tokenNow();
    source.close();
    assert.equal(runs[0]?.signal.aborted, true);
    await Promise.all([assert.rejects(waiting), end(0, new Error("killed"))]);
  });

  test("have one source for all clients of a connection", () => {
    const parts = {
      clock: new ManualClock(),
      random: { fraction: () => 0, uuid: () => "" },
      log: { info: () => {}, error: () => {} },
      run: () => assert.fail("unexpected run"),
    };
    const sources = new CredentialSources(parts);
    const connection = { credentials: { kind: "exec" as const, plugin } };
    assert.equal(sources.of(connection), sources.of({ ...connection }));
    assert.equal(sources.of({ credentials: { kind: "anonymous" } }), undefined);
  });
});
