import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { TLSSocket } from "node:tls";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { AS_AUTHORITY, TestCertificates } from "../../test/support/test-certificates.ts";
import type { TokenReview } from "../api/gen/authentication-v1.ts";
import { AccessReviewCache } from "./access-review-cache.ts";
import { type AuthenticationParts, authenticate, type TokenAnswer } from "./authentication.ts";
import { CERTIFICATES_PRESENTED_MAX } from "./limits.ts";

const never = new AbortController().signal;

/** Accepts the token "good" and rejects all others. */
function tokens(clock = new ManualClock(), keepMs = 120_000) {
  const reviewed: string[] = [];
  let answers = (token: string): TokenReview["status"] =>
    token === "good"
      ? { authenticated: true, user: { username: "ada", uid: "u1", groups: ["ops"], extra: { k: ["v"] } } }
      : { error: "invalid bearer token" };
  const api = {
    create: async (_: unknown, review: TokenReview) => {
      reviewed.push(review.spec.token ?? "");
      assert.deepEqual(Object.keys(review.spec), ["token"]); // No audiences: the Go kubelet does not restrict them.
      const status = answers(review.spec.token ?? "");
      return status === undefined ? review : { ...review, status };
    },
  } as unknown as NonNullable<AuthenticationParts["tokens"]>["api"];
  const cache = new AccessReviewCache<TokenAnswer>(clock, never);
  return {
    clock,
    reviewed,
    parts: { api, cache, keepMs },
    answerWith: (next: typeof answers) => {
      answers = next;
    },
  };
}

const asking = (headers: Readonly<Record<string, string>>) => ({ headers, socket: {} }) as unknown as IncomingMessage;
const who = (
  headers: Readonly<Record<string, string>>,
  parts: Partial<AuthenticationParts> = {},
  request = asking(headers),
) =>
  authenticate(
    request,
    { clock: new ManualClock(), authorities: () => [], tokens: undefined, anonymous: false, ...parts },
    never,
  );

test("[20.1] a valid token gives the reviewed user, with the group system:authenticated", async () => {
  const { parts } = tokens();
  assert.deepEqual(await who({ authorization: "Bearer good" }, { tokens: parts }), {
    kind: "caller",
    isAnonymous: false,
    caller: { name: "ada", uid: "u1", groups: ["ops", "system:authenticated"], extra: { k: ["v"] } },
  });
  assert.equal((await who({ authorization: "bEaReR good" }, { tokens: parts })).kind, "caller");
});

test("[20.1] a request without credentials is rejected, or anonymous where that is allowed", async () => {
  assert.equal((await who({})).kind, "nobody");
  const { parts } = tokens();
  for (const authorization of ["", "Basic abc", "Bearer", "Bearer "]) {
    const proof = await who({ authorization }, { anonymous: true, tokens: parts });
    assert.deepEqual(proof, {
      kind: "caller",
      isAnonymous: true,
      caller: { name: "system:anonymous", uid: "", groups: ["system:unauthenticated"], extra: {} },
    });
  }
});

test("[20.1] an invalid token is rejected even with anonymous access, unless tokens are not reviewed", async () => {
  const { parts } = tokens();
  assert.deepEqual(await who({ authorization: "Bearer bad" }, { anonymous: true, tokens: parts }), {
    kind: "nobody",
    why: "invalid bearer token",
  });
  assert.equal((await who({ authorization: "Bearer bad" }, { anonymous: true })).kind, "caller");
  assert.equal((await who({ authorization: "Bearer bad" })).kind, "nobody");
});

test("[20.1] a token review is cached for 2 min; a revoked token is rejected afterwards", async () => {
  const { clock, parts, reviewed, answerWith } = tokens();
  const ask = async () => (await who({ authorization: "Bearer good" }, { tokens: parts })).kind;
  assert.equal(await ask(), "caller");
  answerWith(() => ({ authenticated: false }));
  await clock.advance(119_999);
  assert.equal(await ask(), "caller");
  assert.equal(reviewed.length, 1);
  await clock.advance(1);
  assert.equal(await ask(), "nobody");
});

test("a rejected token is cached for at most 10 s, a failed review not at all", async () => {
  const { clock, parts, reviewed, answerWith } = tokens();
  const ask = () => who({ authorization: "Bearer new" }, { tokens: parts });
  await ask();
  await ask();
  assert.equal(reviewed.length, 1);
  await clock.advance(10_000);
  answerWith(() => {
    throw new Error("connection refused");
  });
  assert.deepEqual(await ask(), { kind: "nobody", why: "the token could not be reviewed: connection refused" });
  answerWith(() => ({ authenticated: true, user: { username: "ada" } }));
  assert.equal((await ask()).kind, "caller");
});

test("a token review without an answer in time gives tooBusy", async () => {
  const { clock, parts } = tokens();
  const silent = { ...parts, api: { create: () => new Promise<never>(() => {}) } };
  const asked = who({ authorization: "Bearer good" }, { tokens: silent });
  await clock.advance(10_000);
  assert.equal((await asked).kind, "tooBusy");
});

test("a WebSocket may carry its token as a subprotocol, which is removed from the request", async () => {
  const { parts } = tokens();
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from("good").toString("base64url")}`;
  const ask = async (protocols: string, upgrade = "websocket") => {
    const request = asking({ upgrade, "sec-websocket-protocol": protocols });
    const proof = await who({}, { tokens: parts }, request);
    return [proof.kind === "nobody" ? proof.why : proof.kind, request.headers["sec-websocket-protocol"]];
  };
  assert.deepEqual(await ask(`${token}, v5.channel.k8s.io`), ["caller", "v5.channel.k8s.io"]);
  assert.deepEqual((await ask(token))[0], "missing additional subprotocol");
  assert.deepEqual((await ask(`${token},${token},v4`))[0], "multiple base64.bearer.authorization tokens specified");
  assert.deepEqual(
    (await ask("base64url.bearer.authorization.k8s.io.!,v4"))[0],
    "invalid base64.bearer.authorization token encoding",
  );
  assert.deepEqual((await ask(`${token}, v4`, "SPDY/3.1"))[0], "no credential");
});

test("an accepted token is removed from the request", async () => {
  const { parts } = tokens();
  const request = asking({ authorization: "Bearer good" });
  await who({}, { tokens: parts }, request);
  assert.deepEqual(request.headers, {});
});

test("a certificate that the handshake rejected is rejected without another signature check", async (t) => {
  await using made = await TestCertificates.in();
  const authority = await made.selfSigned({ subject: "/CN=cluster" });
  const leaf = new X509Certificate((await made.issue(authority, { subject: "/CN=ada" })).certificatePem);
  const known = new X509Certificate(authority.certificatePem);
  const checks = t.mock.method(X509Certificate.prototype, "verify");
  const clock = new ManualClock();
  await clock.advance(leaf.validFromDate.getTime() + 60_000);
  const ask = (authorized: boolean) => {
    const handshake = { authorized, authorizationError: "CERT_REJECTED", getPeerX509Certificate: () => leaf };
    const socket = Object.create(TLSSocket.prototype, Object.getOwnPropertyDescriptors(handshake)) as unknown;
    const request = { headers: {}, socket } as unknown as IncomingMessage;
    return who({}, { clock, authorities: () => [known] }, request);
  };
  assert.deepEqual(await ask(false), { kind: "nobody", why: "verifying certificate: CERT_REJECTED" });
  assert.equal(checks.mock.callCount(), 0);
  assert.equal((await ask(true)).kind, "caller");
});

test("no more presented certificates are examined than the limit", async () => {
  await using made = await TestCertificates.in();
  const authority = await made.selfSigned({ subject: "/CN=cluster" });
  const between = await made.issue(authority, { subject: "/CN=team", extensions: [AS_AUTHORITY] });
  const leaf = await made.issue(between, { subject: "/CN=ada" });
  const other = await made.selfSigned({ subject: "/CN=other" });
  const clock = new ManualClock();
  await clock.advance(new X509Certificate(leaf.certificatePem).validFromDate.getTime() + 60_000);
  /** The issuer of the leaf comes last, after `count - 2` unrelated certificates. */
  const ask = (count: number) => {
    const presented = [leaf, ...Array<typeof other>(count - 2).fill(other), between];
    const first = presented.reduceRight<X509Certificate | undefined>((issuerCertificate, { certificatePem }) => {
      const certificate = new X509Certificate(certificatePem);
      return Object.defineProperty(certificate, "issuerCertificate", { value: issuerCertificate });
    }, undefined);
    const handshake = { authorized: true, getPeerX509Certificate: () => first };
    const socket = Object.create(TLSSocket.prototype, Object.getOwnPropertyDescriptors(handshake)) as unknown;
    const known = new X509Certificate(authority.certificatePem);
    return who({}, { clock, authorities: () => [known] }, { headers: {}, socket } as unknown as IncomingMessage);
  };
  assert.equal((await ask(CERTIFICATES_PRESENTED_MAX)).kind, "caller");
  assert.deepEqual(await ask(CERTIFICATES_PRESENTED_MAX + 1), {
    kind: "nobody",
    why: "verifying certificate CN=ada: signed by no authority that is known",
  });
});
