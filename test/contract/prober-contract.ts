/** Contract suite of the Prober port: the one on Node.js clients against real servers, and the simulator's. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type HttpGet, httpGetOf, urlOf } from "../../src/domain/probes/http-get.ts";
import { PLAIN_ANSWER, ProbeError, type Prober } from "../../src/ports/prober.ts";

/**
 * `http`: /echo returns 200 with its request as JSON, /status/<n> that status with the fixed body that `httpContract`
 * expects, /large 20 000 bytes. /moved redirects to /echo, /circle to itself, /away to another host. /slow never
 * answers, /half sends the status 200 and nothing more, /closed closes the connection. `https` serves the same paths
 * with a self-signed certificate. `grpc` knows the services "" and "well" (SERVING), "sick" (NOT_SERVING), "silent" (no
 * answer) and "agent" (SERVING only for kube-probe/1.36); any other is not found. `noHealth` speaks gRPC without the
 * health service.
 */
export interface ProberWorld {
  readonly prober: Prober;
  readonly host: string;
  readonly ports: Readonly<Record<"http" | "https" | "grpc" | "noHealth" | "nobody", number>>;
  /** Advances a virtual clock; a real clock advances by itself. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** The request as /echo returns it; header names in lower case. */
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

/** Asserts that the call rejects when the limit of SHORT has passed. */
async function late(world: ProberWorld, call: Promise<unknown>, rejects: (error: unknown) => boolean): Promise<void> {
  const rejected = assert.rejects(call, rejects);
  await world.pass(SHORT.limitMs + 100);
  await rejected;
}

function httpContract(within: Within): void {
  within("[12.3] sends a GET as described, on a connection that is not kept alive", async (world) => {
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

  within("[12.3] returns any status, and truncates a long body", async (world) => {
    for (const status of [204, 304, 404, 500]) {
      const answer = await world.prober.http(getOf(world, `/status/${status}`), LIMITS, patient);
      assert.equal(answer.status, status);
    }
    const { body } = await world.prober.http(getOf(world, "/large"), LIMITS, patient);
    assert.equal(textOf(body), "x".repeat(LIMITS.bodyBytesMax));
  });

  within("[12.3] follows a redirect on the same host, and returns one to another host", async (world) => {
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

  within("[12.3] does not verify certificates, and reports a plain HTTP response to TLS", async (world) => {
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
  within("[12.3] fails to connect to a closed port, and fails with EOF when the server hangs up", async (world) => {
    const { nobody } = world.ports;
    const get = getOf(world, "/", { port: nobody });
    const detail = `dial tcp ${world.host}:${nobody}: connect: connection refused`;
    await assert.rejects(world.prober.http(get, LIMITS, patient), fails("connect", "theirs", detail, urlOf(get)));
    const closed = getOf(world, "/closed");
    await assert.rejects(world.prober.http(closed, LIMITS, patient), fails("answer", "theirs", "EOF", urlOf(closed)));
  });

  within("[12.3] a missing response is late in its answer step, an endless one in its body step", async (world) => {
    const [slow, half] = [getOf(world, "/slow"), getOf(world, "/half")];
    await late(world, world.prober.http(slow, SHORT, patient), fails("answer", "late", /300 ms/, urlOf(slow)));
    await late(world, world.prober.http(half, SHORT, patient), fails("body", "late", /300 ms/, urlOf(half)));
  });

  within("an abort rejects with the caller's reason at once", async (world) => {
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
    "[12.4] succeeds when the TCP connection is accepted, and fails with Go's dial error when it is refused",
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
  const healthCheckOf =
    ({ prober, host, ports }: ProberWorld, port = ports.grpc) =>
    (service: string, limitMs = 2_000) =>
      prober.grpc({ host, port }, { service, userAgent: AGENT }, limitMs, patient);

  within("[12.5] queries a gRPC service by its name, and sends the user agent", async (world) => {
    const ask = healthCheckOf(world);
    for (const service of ["", "well", "agent"]) {
      assert.deepEqual(await ask(service), { kind: "status", status: "SERVING" });
    }
    assert.deepEqual(await ask("sick"), { kind: "status", status: "NOT_SERVING" });
  });

  within("[12.5] returns the gRPC code of a server that refuses", async (world) => {
    assert.deepEqual(await healthCheckOf(world)("other"), { kind: "refused", code: 5, message: "unknown service" });
    const refused = await healthCheckOf(world, world.ports.noHealth)("");
    assert.deepEqual([refused.kind, refused.kind === "refused" && refused.code], ["refused", 12]);
  });

  within("[12.5] a closed port is late in the connect step, a silent server in the answer step", async (world) => {
    await late(world, healthCheckOf(world, world.ports.nobody)("", 300), fails("connect", "late", /300 ms/));
    await late(world, healthCheckOf(world)("silent", 300), fails("answer", "late", /300 ms/));
  });
}
