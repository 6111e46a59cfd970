/**
 * One cluster for all suites of the API client. Each test has its own clients and proxies, which are closed with it.
 */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { ApiUnreachableError } from "../../../src/ports/api-error.ts";
import type { ApiObject, Resource } from "../../../src/ports/api-server.ts";
import type { KubeApi } from "../../../src/wire/kube-api/client.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import { TcpProxy } from "../../cluster/tcp-proxy.ts";
import { type ClientOptions, clientOf } from "../api-world.ts";

export type ClusterOf = () => Cluster;

export const forever: AbortSignal = new AbortController().signal;

export async function clientFor(t: TestContext, cluster: Cluster, options?: ClientOptions): Promise<KubeApi> {
  const api = await clientOf(cluster, options);
  t.after(() => api.close());
  return api;
}

export async function proxyFor(t: TestContext, cluster: Cluster, host?: string): Promise<TcpProxy> {
  const proxy = await TcpProxy.start(cluster.api.url, host);
  t.after(() => proxy.close());
  return proxy;
}

/** The duration and the outcome of `work`; an error is returned, not thrown. */
export async function timed<T>(
  work: () => Promise<T>,
): Promise<{ readonly tookMs: number; readonly outcome: T | Error }> {
  const startedMs = performance.now();
  const outcome = await work().catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
  return { tookMs: performance.now() - startedMs, outcome };
}

interface SelfSubjectReview extends ApiObject {
  readonly status?: { readonly userInfo?: { readonly username?: string } };
}
const selfSubjectReviews: Resource<SelfSubjectReview> = {
  group: "authentication.k8s.io",
  version: "v1",
  kind: "SelfSubjectReview",
  plural: "selfsubjectreviews",
  namespaced: false,
};

/** The username as which the server authenticated the client. */
export async function whoAmI(api: KubeApi): Promise<string | undefined> {
  return (await api.create(selfSubjectReviews, {}, forever)).status?.userInfo?.username;
}

/** Asserts that the server was unreachable, and whether the call may have taken effect all the same. */
export function assertUnreachable(outcome: unknown, { mayHaveHappened }: { readonly mayHaveHappened: boolean }): void {
  assert.ok(outcome instanceof ApiUnreachableError, `not unreachable: ${String(outcome)}`);
  assert.equal(outcome.mayHaveHappened, mayHaveHappened, outcome.message);
}
