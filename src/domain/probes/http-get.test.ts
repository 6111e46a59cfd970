import assert from "node:assert/strict";
import { test } from "node:test";
import { container } from "../../../test/support/pods.ts";
import type { HTTPGetAction } from "../../api/gen/core-v1.ts";
import { resolvePort } from "./container-port.ts";
import { httpGetOf, urlOf, userAgentOf } from "./http-get.ts";
import { requestTarget } from "./request-target.ts";

const APP = container("app", { ports: [{ name: "web", containerPort: 8080 }] });
const IP = "198.18.0.5";

function get(action: Partial<HTTPGetAction>) {
  const made = httpGetOf({ port: "web", path: "/", ...action }, APP, IP, "kube-probe/1.36");
  assert.ok(made.kind === "get");
  return made.get;
}

test("[12.3] the URL has the pod IP unless a host is set, a numeric or named port, and either scheme", () => {
  assert.equal(urlOf(get({})), "http://198.18.0.5:8080/");
  assert.equal(
    urlOf(get({ host: "example.org", port: 81, scheme: "HTTPS", path: "/x?y" })),
    "https://example.org:81/x?y",
  );
  assert.equal(urlOf(get({ host: "fd00::1" })), "http://[fd00::1]:8080/");
});

test("[12.3] a port resolves by name, number or numeric string; others are refused", () => {
  assert.deepEqual(resolvePort("web", APP), { kind: "port", port: 8080 });
  assert.deepEqual(resolvePort("81", APP), { kind: "port", port: 81 });
  assert.deepEqual(resolvePort("none", APP), {
    kind: "refused",
    message: 'strconv.Atoi: parsing "none": invalid syntax',
  });
  assert.deepEqual(resolvePort(70_000, APP), { kind: "refused", message: "invalid port number: 70000" });
});

test("[12.3] default headers are Host, User-Agent, Accept and Connection; httpHeaders override them", () => {
  const plain = [
    ["Host", "198.18.0.5:8080"],
    ["User-Agent", "kube-probe/1.36"],
    ["Accept", "*/*"],
    ["Connection", "close"],
  ];
  assert.deepEqual(get({}).headers, plain);
  const own = [
    { name: "host", value: "me.example" },
    { name: "user-agent", value: "mine" },
    { name: "accept", value: "text/plain" },
    { name: "Accept", value: "text/html" },
    { name: "X-Own", value: "1" },
    { name: "Content-Length", value: "5" },
  ];
  assert.deepEqual(get({ httpHeaders: own }).headers, [
    ["Host", "me.example"],
    ["User-Agent", "mine"],
    ["X-Own", "1"],
    ["Accept", "text/plain"],
    ["Accept", "text/html"],
    ["Connection", "close"],
  ]);
  const none = [
    { name: "User-Agent", value: "" },
    { name: "Accept", value: "" },
  ];
  assert.deepEqual(get({ httpHeaders: none }).headers, [plain[0], plain[3]]);
});

test("[12.3] the User-Agent has the minor version of the emulated kubelet", () => {
  assert.equal(userAgentOf("probe", "v1.36.4"), "kube-probe/1.36");
  assert.equal(userAgentOf("lifecycle", "v1.36.4"), "kube-lifecycle/1.36");
});

// The targets that the Go kubelet's code sends, verified with its own libraries.
for (const [path, target] of [
  ["", "/"],
  ["healthz", "/healthz"],
  ["/a/b?x=1&y=%20", "/a/b?x=1&y=%20"],
  ["/a#part", "/a"],
  ["/with space", "/with%20space"],
  ["/%41%zz", "/%2541%25zz"],
  ["/a%2Fb", "/a%2Fb"],
  ["/ü", "/%C3%BC"],
  ["/a[1]", "/a[1]"],
  ['/a"b', "/a%22b"],
  ["/a%22 b", "/a%22%20b"],
  ["http://other:99/path?q", "/path?q"],
  ["//other/path", "/path"],
  ["/?", "/?"],
] as const) {
  test(`[12.3] the path ${JSON.stringify(path)} becomes the request target ${target}`, () =>
    assert.equal(requestTarget(path), target));
}
