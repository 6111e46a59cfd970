import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import type { SubjectAccessReview } from "../api/gen/authorization-v1.ts";
import { AccessReviewCache } from "./access-review-cache.ts";
import { type AuthorizationParts, authorize } from "./authorization.ts";
import { HttpError } from "./route.ts";

const never = new AbortController().signal;
const caller = { name: "ada", uid: "", groups: ["ops"], extra: {} };
type Webhook = Extract<AuthorizationParts, { mode: "webhook" }>;

/** Allows the listed pairs "verb subresource". */
function webhook(allowed: readonly string[]) {
  const clock = new ManualClock();
  const asked: string[] = [];
  const specs: SubjectAccessReview["spec"][] = [];
  const state = { allowed };
  const api = {
    create: async (_: unknown, review: SubjectAccessReview) => {
      const { verb = "", subresource = "" } = review.spec.resourceAttributes ?? {};
      asked.push(`${verb} ${subresource}`);
      specs.push(review.spec);
      return { ...review, status: { allowed: state.allowed.includes(`${verb} ${subresource}`) } };
    },
  } as unknown as Webhook["api"];
  const parts: Webhook = {
    mode: "webhook",
    api,
    cache: new AccessReviewCache<boolean>(clock, never),
    nodeName: "n1",
    keepAllowedMs: 300_000,
    keepDeniedMs: 30_000,
  };
  const outcome = async (method: string, ...path: readonly string[]) => {
    try {
      await authorize({ caller, method, path }, parts, never);
      return "allowed";
    } catch (error) {
      assert.ok(error instanceof HttpError);
      return `${error.status} ${error.message}`;
    }
  };
  return { clock, asked, specs, state, parts, outcome };
}

test("[20.2] the SubjectAccessReview names the node's subresource and the verb of the method", async () => {
  const { outcome, specs } = webhook(["get metrics"]);
  assert.equal(await outcome("GET", "metrics", "cadvisor"), "allowed");
  assert.deepEqual(specs, [
    {
      user: "ada",
      groups: ["ops"],
      extra: {},
      resourceAttributes: { verb: "get", version: "v1", resource: "nodes", subresource: "metrics", name: "n1" },
    },
  ]);
});

test("[20.3] subresources are reviewed one after the other, until one is allowed", async () => {
  const fine = webhook(["get pods", "get proxy"]);
  assert.equal(await fine.outcome("GET", "pods"), "allowed");
  assert.deepEqual(fine.asked, ["get pods"]);
  const coarse = webhook(["get proxy"]);
  assert.equal(await coarse.outcome("GET", "pods"), "allowed");
  assert.deepEqual(coarse.asked, ["get pods", "get proxy"]);
});

test("[20.2] a 403 names the user, the verb and all subresources", async () => {
  const { outcome } = webhook([]);
  assert.equal(
    await outcome("GET", "pods"),
    "403 Forbidden (user=ada, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
  );
  assert.equal(
    await outcome("OPTIONS", "metrics"),
    "403 Forbidden (user=ada, verb=, resource=nodes, subresource(s)=[metrics])\n",
  );
});

test("exec, attach, portForward and run need create as well as the verb of the method", async () => {
  const reads = webhook(["get proxy"]);
  for (const first of ["exec", "attach", "portForward", "run"]) {
    assert.match(await reads.outcome("GET", first, "ns", "pod", "c"), /^403 Forbidden \(user=ada, verb=create,/);
  }
  const creates = webhook(["create proxy"]);
  assert.match(await creates.outcome("GET", "exec", "ns", "pod", "c"), /^403 Forbidden \(user=ada, verb=get,/);
  assert.equal(await creates.outcome("POST", "exec", "ns", "pod", "c"), "allowed");
  assert.equal(await webhook(["create proxy", "get proxy"]).outcome("GET", "exec", "ns", "pod", "c"), "allowed");
});

test("[20.2] allowed decisions are cached for 5 min, denied ones for 30 s", async () => {
  const { clock, outcome, asked, state } = webhook(["get stats"]);
  await outcome("GET", "stats");
  await outcome("GET", "metrics");
  state.allowed = ["get metrics"];
  await clock.advance(29_999);
  assert.match(await outcome("GET", "metrics"), /^403/);
  await clock.advance(1);
  assert.equal(await outcome("GET", "metrics"), "allowed");
  await clock.advance(269_999);
  assert.equal(await outcome("GET", "stats"), "allowed");
  await clock.advance(1);
  assert.match(await outcome("GET", "stats"), /^403/);
  assert.equal(asked.length, 4);
});

test("[20.2] returns 500 when the SubjectAccessReview fails, 503 when it times out", async () => {
  const { clock, parts } = webhook([]);
  const through = (api: unknown) =>
    authorize({ caller, method: "GET", path: ["stats"] }, { ...parts, api: api as Webhook["api"] }, never);
  const text = "Authorization error (user=ada, verb=get, resource=nodes, subresource=stats)";
  await assert.rejects(through({ create: () => Promise.reject(new Error("no route")) }), {
    status: 500,
    message: text,
  });
  const silent = assert.rejects(through({ create: () => new Promise(() => {}) }), { status: 503, message: text });
  await clock.advance(10_000);
  await silent;
});

test("[1.6] AlwaysAllow allows exec without a review", async () => {
  await authorize({ caller, method: "GET", path: ["exec", "a", "b", "c"] }, { mode: "alwaysAllow" }, never);
});
