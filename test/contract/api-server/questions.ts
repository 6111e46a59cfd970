/** `ask` for tokens and evictions, and the review kinds: TokenReview and SubjectAccessReview. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TokenRequest } from "../../../src/api/gen/authentication-v1.ts";
import type { Eviction } from "../../../src/api/gen/policy-v1.ts";
import { pods, serviceAccounts, subjectAccessReviews, tokenReviews } from "../../../src/api/resources.ts";
import { ApiError, isNotFound } from "../../../src/ports/api-error.ts";
import type { ApiObject, Resource } from "../../../src/ports/api-server.ts";
import { type ApiWorld, forever, pod } from "./world.ts";

interface PodDisruptionBudget extends ApiObject {
  readonly spec: { readonly minAvailable: number; readonly selector: object };
}
const podDisruptionBudgets: Resource<PodDisruptionBudget> = {
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  namespaced: true,
};

const tokenQuestion: TokenRequest = { spec: { audiences: [], expirationSeconds: 3600 } };
const evictionOf = (namespace: string, name: string): Eviction => ({ metadata: { namespace, name } });

export function questionCases(world: () => ApiWorld): void {
  void test("issues a service account token with its expiration, and a TokenReview authenticates it", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const account = { namespace: ns, name: "default" };
    const answer = await api.ask<TokenRequest>(serviceAccounts, account, "token", tokenQuestion, forever);
    assert.match(answer.status?.token ?? "", /^[\w-]+\.[\w-]+\.[\w-]+$/);
    assert.match(answer.status?.expirationTimestamp ?? "", /^\d{4}-/);
    const review = await api.create(tokenReviews, { spec: { token: answer.status?.token ?? "" } }, forever);
    assert.equal(review.status?.authenticated, true);
    assert.equal(review.status?.user?.username, `system:serviceaccount:${ns}:default`);
  });

  void test("a TokenRequest returns not found for a missing account, and 422 for too short an expiration", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const none = api.ask(serviceAccounts, { namespace: ns, name: "none" }, "token", tokenQuestion, forever);
    await assert.rejects(none, isNotFound);
    const short: TokenRequest = { spec: { audiences: [], expirationSeconds: 1 } };
    const call = api.ask(serviceAccounts, { namespace: ns, name: "default" }, "token", short, forever);
    await assert.rejects(call, { status: 422 });
  });

  void test("a TokenReview of an unsigned token succeeds and does not authenticate it", async () => {
    const review = await world().api.create(tokenReviews, { spec: { token: "made.up.token" } }, forever);
    assert.notEqual(review.status?.authenticated, true);
  });

  void test("a SubjectAccessReview allows system:masters, denies an unknown user, and returns 422 without attributes", async () => {
    const resourceAttributes = { verb: "get", resource: "secrets", namespace: "kube-system" };
    const allowed = async (user: string, groups: readonly string[]) => {
      const spec = { user, groups, resourceAttributes };
      return (await world().api.create(subjectAccessReviews, { spec }, forever)).status?.allowed;
    };
    assert.equal(await allowed("root", ["system:masters"]), true);
    assert.equal(await allowed("outsider", []), false);
    const empty = world().api.create(subjectAccessReviews, { spec: { user: "x" } }, forever);
    await assert.rejects(empty, { status: 422 });
  });

  void test("evicts a pod without a PodDisruptionBudget", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await api.create(pods, pod(ns, "web"), forever);
    await api.ask(pods, { namespace: ns, name: "web" }, "eviction", evictionOf(ns, "web"), forever);
    await assert.rejects(api.get(pods, { namespace: ns, name: "web" }, forever), isNotFound);
  });

  void test("an eviction of a missing pod returns not found", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await assert.rejects(
      api.ask(pods, { namespace: ns, name: "none" }, "eviction", evictionOf(ns, "none"), forever),
      isNotFound,
    );
  });

  void test("an eviction that a PodDisruptionBudget forbids returns 429 and keeps the pod", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const where = { namespace: ns, name: "web" };
    await api.create(pods, pod(ns, "web", { nodeName: "node-of-evictions" }), forever);
    await api.patch(
      pods,
      where,
      { kind: "strategic", body: { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } } },
      { subresource: "status" },
      forever,
    );
    const spec = { minAvailable: 1, selector: { matchLabels: { app: "web" } } };
    const budget = await api.create(podDisruptionBudgets, { metadata: where, spec }, forever);
    // The status that the disruption controller would write: generation observed, no disruptions allowed.
    const seen = {
      observedGeneration: 1,
      disruptionsAllowed: 0,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
    };
    await api.update(
      podDisruptionBudgets,
      { ...budget, status: seen } as PodDisruptionBudget,
      { subresource: "status" },
      forever,
    );
    await assert.rejects(api.ask(pods, where, "eviction", evictionOf(ns, "web"), forever), (error) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.status, error.reason], [429, "TooManyRequests"]);
      return true;
    });
    assert.equal((await api.get(pods, where, forever)).metadata?.deletionTimestamp, undefined);
  });
}
