import assert from "node:assert/strict";
import { test } from "node:test";
import { leases, nodes, pods } from "../../api/resources.ts";
import { collectionPath, listQuery, objectPath, operationName, watchQuery } from "./paths.ts";

void test("the path of an object follows its group, version, namespace and subresource", () => {
  assert.deepEqual(
    [
      objectPath("GET", pods, { namespace: "default", name: "web" }),
      objectPath("PATCH", pods, { namespace: "default", name: "web" }, "status"),
      objectPath("GET", nodes, { name: "n1" }),
      objectPath("GET", leases, { namespace: "kube-node-lease", name: "n1" }),
      collectionPath("LIST", pods, undefined),
      collectionPath("LIST", leases, "kube-node-lease"),
    ],
    [
      "/api/v1/namespaces/default/pods/web",
      "/api/v1/namespaces/default/pods/web/status",
      "/api/v1/nodes/n1",
      "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1",
      "/api/v1/pods",
      "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
    ],
  );
});

for (const name of ["", ".", "..", "a/b", "%2e"]) {
  void test(`objectPath rejects the name ${JSON.stringify(name)}`, () => {
    assert.throws(() => objectPath("GET pods", pods, { namespace: "default", name }), /cannot be a name/);
  });
}

void test("a missing or superfluous namespace throws BugError", () => {
  assert.throws(() => objectPath("GET pods x", pods, { name: "x" }), { name: "BugError" });
  assert.throws(() => objectPath("GET nodes x", nodes, { namespace: "default", name: "x" }), { name: "BugError" });
});

void test("an operation is named by verb, kind and object", () => {
  assert.equal(operationName("GET", pods, { namespace: "default", name: "x" }), "GET pods default/x");
  assert.equal(operationName("PATCH", pods, { namespace: "d", name: "x" }, "status"), "PATCH pods/status d/x");
  assert.equal(operationName("LIST", nodes, {}), "LIST nodes");
});

void test("queries escape selectors and include the watch's start", () => {
  assert.equal(listQuery({}, {}), "");
  assert.equal(
    listQuery(
      { labels: "a in (b,c)", fields: "spec.nodeName=n1" },
      { limit: 5, continueToken: "a+b=", resourceVersion: "0" },
    ),
    "?labelSelector=a%20in%20(b%2Cc)&fieldSelector=spec.nodeName%3Dn1&limit=5&continue=a%2Bb%3D&resourceVersion=0",
  );
  assert.equal(
    watchQuery({}, { kind: "after", resourceVersion: "7" }, 300),
    "?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=7",
  );
  assert.equal(
    watchQuery({}, { kind: "initialEvents" }, 300),
    "?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
  );
});
