import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { OUTPUT_BYTES_MAX } from "../../domain/limits.ts";
import type { HttpGet } from "../../domain/probes/http-get.ts";
import { PLAIN_ANSWER, ProbeError } from "../../ports/prober.ts";
import { type HookRun, runHook } from "./hooks.ts";

const { signal } = new AbortController();
const run: HookRun = {
  subject: { kind: "Pod", name: "p", namespace: "default", uid: "u", resourceVersion: "7" },
  pod: { name: "p", namespace: "default", uid: "u" },
  container: "app",
  id: "app-0",
  handler: {
    httpGet: { path: "/bye", port: 8443, scheme: "HTTPS", httpHeaders: [{ name: "Authorization", value: "secret" }] },
  },
  ports: [],
  ip: "198.18.0.5",
  userAgent: "kube-lifecycle/1.36",
};

/** Answers each request as the test says, and records requests and events. */
async function played(answer: (get: HttpGet) => ProbeError | undefined) {
  const [asked, reported]: [HttpGet[], string[]] = [[], []];
  const ports = {
    clock: new ManualClock(),
    events: {
      emit: (subject: unknown, type: string, reason: string, text: string) => {
        assert.equal(subject, run.subject);
        reported.push(`${type} ${reason}: ${text}`);
      },
    },
    prober: {
      http: async (get: HttpGet) => {
        asked.push(get);
        const failure = answer(get);
        if (failure !== undefined) throw failure;
        return { status: 500, body: new Uint8Array() };
      },
    },
  } as unknown as Parameters<typeof runHook>[1];
  return { failure: await runHook(run, ports, signal), asked, reported };
}

const plain = new ProbeError("answer", "theirs", PLAIN_ANSWER, "https://198.18.0.5:8443/bye");
const names = ({ headers }: HttpGet) => headers.map(([name]) => name.toLowerCase());

test("[7.15] an HTTP hook that is answered with status 500 succeeds", async () => {
  const { failure, asked, reported } = await played(() => undefined);
  assert.deepEqual([failure, asked.length, reported], [undefined, 1, []]);
});

test("[7.15] an HTTPS hook that is answered without TLS is retried over HTTP without Authorization, with an event", async () => {
  const { failure, asked, reported } = await played(({ scheme }) => (scheme === "https" ? plain : undefined));
  assert.equal(failure, undefined);
  assert.deepEqual(
    asked.map(({ scheme }) => scheme),
    ["https", "http"],
  );
  assert.ok(asked.map(names).every((list, index) => list.includes("authorization") === (index === 0)));
  assert.deepEqual(reported, [
    "Warning LifecycleHTTPFallback: request to HTTPS lifecycle hook 198.18.0.5:8443 got HTTP response, retry with HTTP succeeded",
  ]);
});

test("[7.15] if the retry over HTTP fails too, the failure names the HTTPS error and no event is emitted", async () => {
  const { failure, reported } = await played(() => plain);
  assert.match(
    failure ?? "",
    /^HTTP lifecycle hook \(\/bye\) for Container "app" in Pod "p_default\(u\)" failed - error: Get "https:.*HTTPS client$/,
  );
  assert.deepEqual(reported, []);
});

test("[7.15] an exec hook's failure holds the first bytes of its output up to the limit", async () => {
  const most = "x".repeat(OUTPUT_BYTES_MAX);
  const failureOf = (stdout: string, stderr: string) => {
    const execSync = async () => ({ exitCode: 1, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) });
    const ports = { runtime: { execSync } } as unknown as Parameters<typeof runHook>[1];
    return runHook({ ...run, handler: { exec: { command: ["bye"] } } }, ports, signal);
  };
  const wanted = (stderr: string, output: string) =>
    `Exec lifecycle hook ([bye]) for Container "app" in Pod "p_default(u)" failed - error: ` +
    `command 'bye' exited with 1: ${stderr}, message: "${output}"`;
  assert.equal(await failureOf(most, ""), wanted("", most));
  assert.equal(await failureOf(`${most}y`, ""), wanted("", most));
  assert.equal(await failureOf("", `${most}y`), wanted(most, most));
  assert.equal(await failureOf(most, "y"), wanted("y", most));
});

test("[7.15] an HTTP hook's response is read only up to the limit", async () => {
  const wanted: number[] = [];
  const http = async (_get: HttpGet, { bodyBytesMax }: { readonly bodyBytesMax: number }) => {
    wanted.push(bodyBytesMax);
    return { status: 200, body: Buffer.alloc(OUTPUT_BYTES_MAX + 1).subarray(0, bodyBytesMax) };
  };
  const ports = { prober: { http } } as unknown as Parameters<typeof runHook>[1];
  assert.equal(await runHook(run, ports, signal), undefined);
  assert.deepEqual(wanted, [OUTPUT_BYTES_MAX]);
});
