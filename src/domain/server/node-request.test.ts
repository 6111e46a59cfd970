import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { GUARDED_PATHS, METHODS } from "../../../test/support/access-table.ts";
import { parsePath, subresourcesOf, verbsOf } from "./node-request.ts";

for (const [path, parts] of [
  ["/", []],
  ["/pods", ["pods"]],
  ["/pods/", ["pods"]],
  ["/%70ods", ["pods"]],
  ["/exec/ns/pod/a%20b", ["exec", "ns", "pod", "a b"]],
  ["/exec/ns/pöd/c", ["exec", "ns", "pöd", "c"]],
  ["/pods;x=1", ["pods;x=1"]],
] as const) {
  test(`parsePath: ${path} is ${JSON.stringify(parts)}`, () => assert.deepEqual(parsePath(path), parts));
}

for (const path of [
  "",
  "pods",
  "*",
  "http://node/pods",
  "//pods",
  "/pods//",
  "/stats//summary",
  "/pods/..",
  "/pods/../exec/a/b/c",
  "/./pods",
  "/pods/%2e%2e/exec",
  "/pods/%2E%2e",
  "/a%2fb",
  "/a%2Fb",
  "/a\\b",
  "/a%5cb",
  "/a%00",
  "/a\u0000",
  "/a%0a",
  "/a%23",
  "/a#b",
  "/%",
  "/%zz",
  "/%ff",
]) {
  test(`parsePath: ${JSON.stringify(path)} is refused`, () => assert.equal(parsePath(path), undefined));
}

test("[20.3] each listed path needs its listed subresources and verbs", () => {
  for (const { path: url, guards, executes } of GUARDED_PATHS) {
    const path = parsePath(url.replace(/\?.*/, ""));
    assert.ok(path !== undefined, url);
    assert.deepEqual(subresourcesOf(path), guards, url);
    for (const method of METHODS) {
      const wanted = { GET: "get", POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };
      const verb = Object.hasOwn(wanted, method) ? wanted[method as keyof typeof wanted] : "";
      assert.deepEqual(
        verbsOf(method, path),
        executes && verb !== "create" ? [verb, "create"] : [verb],
        `${method} ${url}`,
      );
    }
  }
});

/** The Go kubelet's table and our /explain, applied to the decoded path as text: a prefix matches up to the next slash. */
const GO_TABLE: readonly (readonly [prefix: string, guards: readonly string[]])[] = [
  ["/pods", ["pods", "proxy"]],
  ["/healthz", ["healthz", "proxy"]],
  ["/configz", ["configz", "proxy"]],
  ["/runningpods", ["pods", "proxy"]],
  ["/explain", ["pods", "proxy"]],
  ["/stats", ["stats"]],
  ["/metrics", ["metrics"]],
  ["/logs", ["log"]],
  ["/checkpoint", ["checkpoint"]],
  ["/statusz", ["statusz"]],
  ["/flagz", ["configz"]],
];

const byGo = (decoded: string) =>
  GO_TABLE.find(([prefix]) => decoded === prefix || decoded.startsWith(`${prefix}/`))?.[1] ?? ["proxy"];

test("any accepted path needs the Go kubelet's subresources and parses the same when encoded again", () => {
  const word = fc.constantFrom(
    "pods",
    "Pods",
    "explain",
    "stats",
    "metrics",
    "logs",
    "exec",
    "..",
    ".",
    "",
    "healthz",
    "flagz",
    "x",
  );
  const odd = fc.constantFrom("%2e", "%2F", "%70", "%25", ";", "%00", "\\", "%", "#", "é", "%C3%A9", "~", "+");
  const part = fc.array(fc.oneof({ weight: 3, arbitrary: word }, odd, fc.string({ maxLength: 3 })), { maxLength: 3 });
  const url = fc.array(part, { maxLength: 5 }).map((parts) => `/${parts.map((pieces) => pieces.join("")).join("/")}`);
  fc.assert(
    fc.property(url, (written) => {
      const path = parsePath(written);
      if (path === undefined) return;
      assert.ok(path.every((one) => one !== "" && one !== "." && one !== ".." && !/[/\\\0#]/.test(one)));
      assert.deepEqual(subresourcesOf(path), byGo(decodeURIComponent(written)));
      assert.deepEqual(parsePath(`/${path.map(encodeURIComponent).join("/")}`), path);
    }),
    { numRuns: 20_000 },
  );
});
