/** What every Prober keeps: the one on Node's clients, against real servers, and the simulator's. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type HttpGet, httpGetOf, urlOf } from "../../src/domain/probes/http-get.ts";
import { PLAIN_ANSWER, ProbeError, type Prober } from "../../src/ports/prober.ts";

/**
 * `http`: /echo answers 200 with its request as JSON, /status/<n> with that status and the body "told", /large with 20 000 bytes, /moved sends to
 * /echo, /circle to itself, /away to another host, /slow is silent, /half says 200 and no more, /closed hangs up. `https` is the same with a
 * certificate of its own making. `grpc` knows the services "" and "well" (SERVING), "sick" (NOT_SERVING), "silent" (no answer), "agent" (SERVING
 * for kube-probe/1.36 alone); any other is not found. `noHealth` speaks gRPC and knows nothing of health.
 */
export interface ProberWorld {
  readonly prober: Prober;
  readonly host: string;
  readonly ports: Readonly<Record<"http" | "https" | "grpc" | "noHealth" | "nobody", number>>;
  /** Lets so much time pass, where time does not pass by itself. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** As /echo tells it; names in lower case. */
export interface Echo {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
}

const AGENT = "kube-probe/1.36";
const LIMITS = { limitMs: 2_000, bodyBytesMax: 10_240 };
const SHORT = { ...LIMITS, limitMs: 300 };
const patient = new AbortController().signal;

type Within = (title: string, run: (world: ProberWorld) => Promise<void>) => void;

export function proberContract(name: string, open: () => Promise<ProberWorld>): void {
  const within: Within = (title, run) => {
    test(title, async () => {
      const world = await open();
      try {
        await run(world);
      } finally {
        await world.close();
      }
    });
  };
  describe(`${name} keeps the Prober contract`, () => {
    httpContract(within);
    httpTroubles(within);
    tcpContract(within);
    grpcContract(within);
  });
}

function getOf(
  { host, ports }: ProberWorld,
  path: string,
  { port = ports.http, ...action }: Partial<Parameters<typeof httpGetOf>[0]> = {},
): HttpGet {
  const made = httpGetOf({ ...action, path, port }, {}, host, AGENT);
  assert.equal(made.kind, "get");
  return made.kind === "get" ? made.get : assert.fail();
}

const textOf = (body: Uint8Array) => new TextDecoder().decode(body);

const fails = (step: ProbeError["step"], fault: ProbeError["fault"], detail: string | RegExp, url = "") => {
  return (error: unknown) => {
    assert.ok(error instanceof ProbeError, String(error));
    assert.deepEqual([error.step, error.fault, error.url], [step, fault, url]);
    if (typeof detail === "string") assert.equal(error.detail, detail);
    else assert.match(error.detail, detail);
    return true;
  };
};

/** Rejects once so much time has gone by. */
async function late(world: ProberWorld, call: Promise<unknown>, rejects: (error: unknown) => boolean): Promise<void> {
  const rejected = assert.rejects(call, rejects);
  await world.pass(SHORT.limitMs + 100);
  await rejected;
}

function httpContract(within: Within): void {
  within("[12.3] a GET is sent as it is described, on a connection that is not kept", async (world) => {
    const headers = [
      { name: "X-Twice", value: "a" },
      { name: "X-Twice", value: "b" },
      { name: "Host", value: "other.example" },
    ];
    const get = getOf(world, "/echo?x=1&y=a%20b", { httpHeaders: headers });
    const { status, body } = await world.prober.http(get, LIMITS, patient);
    const echo = JSON.parse(textOf(body)) as Echo;
    assert.deepEqual([status, echo.method, echo.target], [200, "GET", "/echo?x=1&y=a%20b"]);
    assert.deepEqual(echo.headers, [
      ["host", "other.example"],
      ["user-agent", AGENT],
      ["x-twice", "a"],
      ["x-twice", "b"],
      ["accept", "*/*"],
      ["connection", "close"],
    ]);
  });

  within("[12.3] any status is an answer, and a long body is cut off", async (world) => {
    for (const status of [204, 304, 404, 500]) {
      const answer = await world.prober.http(getOf(world, `/status/${status}`), LIMITS, patient);
      assert.equal(answer.status, status);
    }
    const { body } = await world.prober.http(getOf(world, "/large"), LIMITS, patient);
    assert.equal(textOf(body), "x".repeat(LIMITS.bodyBytesMax));
  });

  within("[12.3] a redirect that stays on the host is followed, one to another host is the answer", async (world) => {
    const moved = await world.prober.http(getOf(world, "/moved"), LIMITS, patient);
    const { target, headers } = JSON.parse(textOf(moved.body)) as Echo;
    assert.deepEqual([moved.status, target], [200, "/echo"]);
    assert.ok(headers.some(([header, value]) => header === "referer" && value === urlOf(getOf(world, "/moved"))));
    const away = await world.prober.http(getOf(world, "/away"), LIMITS, patient);
    assert.deepEqual([away.status, textOf(away.body)], [302, "told"]);
    await assert.rejects(
      world.prober.http(getOf(world, "/circle"), LIMITS, patient),
      fails("answer", "theirs", "stopped after 10 redirects", "/circle"),
    );
  });

  within("[12.3] no certificate is asked for, and a plain answer to TLS is told as one", async (world) => {
    const secure = { scheme: "HTTPS", port: world.ports.https };
    const { status } = await world.prober.http(getOf(world, "/status/200", secure), LIMITS, patient);
    assert.equal(status, 200);
    const plain = getOf(world, "/status/200", { scheme: "HTTPS" });
    await assert.rejects(
      world.prober.http(plain, LIMITS, patient),
      fails("answer", "theirs", PLAIN_ANSWER, urlOf(plain)),
    );
  });
}

function httpTroubles(within: Within): void {
  within("[12.3] where nobody listens the dial fails, and one that hangs up has not answered", async (world) => {
    const { nobody } = world.ports;
    const get = getOf(world, "/", { port: nobody });
    const detail = `dial tcp ${world.host}:${nobody}: connect: connection refused`;
    await assert.rejects(world.prober.http(get, LIMITS, patient), fails("connect", "theirs", detail, urlOf(get)));
    const closed = getOf(world, "/closed");
    await assert.rejects(world.prober.http(closed, LIMITS, patient), fails("answer", "theirs", "EOF", urlOf(closed)));
  });

  within("[12.3] an answer that does not come, or does not end, is late in its own step", async (world) => {
    const [slow, half] = [getOf(world, "/slow"), getOf(world, "/half")];
    await late(world, world.prober.http(slow, SHORT, patient), fails("answer", "late", /300 ms/, urlOf(slow)));
    await late(world, world.prober.http(half, SHORT, patient), fails("body", "late", /300 ms/, urlOf(half)));
  });

  within("a caller that gives up gets its own reason at once", async (world) => {
    const stop = new AbortController();
    const reason = new Error("enough");
    const { host, ports, prober } = world;
    const calls = [
      prober.http(getOf(world, "/slow"), LIMITS, stop.signal),
      prober.grpc({ host, port: ports.grpc }, { service: "silent", userAgent: AGENT }, 2_000, stop.signal),
      prober.grpc({ host, port: ports.nobody }, { service: "", userAgent: AGENT }, 2_000, stop.signal),
    ];
    const given = calls.map((call) => assert.rejects(call, (error) => error === reason));
    await world.pass(100);
    stop.abort(reason);
    await Promise.all(given);
    await assert.rejects(prober.tcp({ host, port: ports.http }, 2_000, stop.signal), (error) => error === reason);
  });
}

function tcpContract(within: Within): void {
  within(
    "[12.4] a connection that is taken is enough, one that is refused fails with the dial's words",
    async (world) => {
      const { host, ports, prober } = world;
      await prober.tcp({ host, port: ports.http }, 2_000, patient);
      const detail = `dial tcp ${host}:${ports.nobody}: connect: connection refused`;
      await assert.rejects(
        prober.tcp({ host, port: ports.nobody }, 2_000, patient),
        fails("connect", "theirs", detail),
      );
    },
  );
}

function grpcContract(within: Within): void {
  const asker =
    ({ prober, host, ports }: ProberWorld, port = ports.grpc) =>
    (service: string, limitMs = 2_000) =>
      prober.grpc({ host, port }, { service, userAgent: AGENT }, limitMs, patient);

  within("[12.5] a service is asked for by its name, by an agent that says who it is", async (world) => {
    const ask = asker(world);
    for (const service of ["", "well", "agent"]) {
      assert.deepEqual(await ask(service), { kind: "status", status: "SERVING" });
    }
    assert.deepEqual(await ask("sick"), { kind: "status", status: "NOT_SERVING" });
  });

  within("[12.5] a server that refuses is heard with its code", async (world) => {
    assert.deepEqual(await asker(world)("other"), { kind: "refused", code: 5, message: "unknown service" });
    const refused = await asker(world, world.ports.noHealth)("");
    assert.deepEqual([refused.kind, refused.kind === "refused" && refused.code], ["refused", 12]);
  });

  within("[12.5] who is not there is late in connecting, who is silent in answering", async (world) => {
    await late(world, asker(world, world.ports.nobody)("", 300), fails("connect", "late", /300 ms/));
    await late(world, asker(world)("silent", 300), fails("answer", "late", /300 ms/));
  });
}
