import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { goldenLines } from "../../../test/support/golden.ts";
import type { Secret } from "../../api/gen/core-v1.ts";
import { type CredentialsByRegistry, parseDockerConfig } from "./docker-config.ts";
import { credentialsFor, credentialsOfSecret } from "./registry-credentials.ts";
import { normalRegistry, registryMatches } from "./registry-match.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const credentials = (...registries: readonly string[]): CredentialsByRegistry =>
  registries.map((registry, index) => [registry, { username: `${registry}#${index}`, password: "p" }]);
const found = (
  repository: string,
  ofPod: readonly CredentialsByRegistry[],
  ofNode: readonly CredentialsByRegistry[] = [],
) => credentialsFor(repository, { ofPod, ofNode }).map(({ username }) => username);

interface Recorded {
  readonly place: string;
  readonly key: string | null;
  readonly matches: readonly string[] | null;
}

const REPOSITORIES = [
  "docker.io/library/busybox",
  "gcr.io/team/app",
  "gcr.io/teamwork/x",
  "reg.io:5000/team/app",
  "a.reg.io/team/app",
  "reg.gcr.io/x",
  "localhost/x",
  "[::1]:5000/x",
  "aXbY.io/x",
  "reg:80/a",
];

test("[9.5] registry addresses are normalized and matched as by the Go kubelet", () => {
  for (const { place, key, matches } of goldenLines("registry-places.jsonl") as readonly Recorded[]) {
    const normal = normalRegistry(place);
    assert.equal(normal ?? null, key, place);
    const hits = REPOSITORIES.filter((repository) => normal !== undefined && registryMatches(normal, repository));
    assert.deepEqual(hits, matches ?? [], place);
  }
});

test("[9.5] matching credentials are ordered: the pod's before the node's, longer registry paths first", () => {
  const first = credentials("gcr.io", "gcr.io/team/app", "other.io");
  const second = credentials("gcr.io", "*.io");
  const node = credentials("https://gcr.io/team", "gcr.io");
  assert.deepEqual(found("gcr.io/team/app", [first, second], [node]), [
    "gcr.io/team/app#1",
    "gcr.io#0",
    "gcr.io#0",
    "*.io#1",
    "https://gcr.io/team#0",
    "gcr.io#1",
  ]);
  assert.deepEqual(found("quay.io/x", [credentials("gcr.io")], [credentials("docker.io")]), []);
});

test("[9.5] credentials for index.docker.io are used for docker.io if no others match", () => {
  const hub = credentials("https://index.docker.io/v1/");
  assert.deepEqual(found("docker.io/library/busybox", [hub]), ["https://index.docker.io/v1/#0"]);
  assert.deepEqual(found("docker.io/library/busybox", [[...hub, ...credentials("docker.io")]]), ["docker.io#0"]);
  assert.deepEqual(found("gcr.io/x", [hub]), []);
});

test("[9.5] credentials are username and password or an auth field, and an invalid entry invalidates the file", () => {
  const parse = (auths: unknown) => parseDockerConfig(JSON.stringify({ auths }), "config.json");
  const read = (entry: unknown) => {
    const parsed = parse({ h: entry });
    return parsed.kind === "credentials"
      ? parsed.credentials.map(([, { username, password }]) => [username, password])
      : parsed.why;
  };
  assert.deepEqual(read({ username: "u", password: "p" }), [["u", "p"]]);
  assert.deepEqual(read({ username: "x", password: "y", auth: base64("u:p:q") }), [["u", "p:q"]]);
  assert.deepEqual(read({ auth: base64("user:pass").replace(/=+$/, "") }), [["user", "pass"]]);
  assert.deepEqual(read({ Auth: base64("ü:p") }), [["ü", "p"]]);
  assert.deepEqual([read({}), read(null)], [[["", ""]], [["", ""]]]);
  assert.equal(
    read({ auth: base64("nocolon") }),
    "unable to parse auth field, must be formatted as base64(username:password)",
  );
  assert.equal(read({ auth: "%%%" }), "illegal base64 data at input byte 0");
  for (const wrong of [{ username: 1 }, [], "text"])
    assert.equal(read(wrong), "error occurred while trying to unmarshal json");
  assert.deepEqual(parse(null), { kind: "credentials", credentials: [] });
  assert.deepEqual(parseDockerConfig("{}", "config.json"), { kind: "credentials", credentials: [] });
  assert.equal(parseDockerConfig("{", "config.json").kind, "invalid");
});

test("[9.5] both types of pull Secret are read; other types and empty Secrets give no credentials", () => {
  const login = { h: { username: "u", password: "p" } };
  const secret = (type: string, key: string, content: unknown): Secret => ({
    type,
    data: { [key]: base64(JSON.stringify(content)) },
  });
  const wanted = { kind: "credentials", credentials: [["h", { username: "u", password: "p" }]] };
  assert.deepEqual(
    credentialsOfSecret(secret("kubernetes.io/dockerconfigjson", ".dockerconfigjson", { auths: login })),
    wanted,
  );
  assert.deepEqual(credentialsOfSecret(secret("kubernetes.io/dockercfg", ".dockercfg", login)), wanted);
  const nothing = { kind: "credentials", credentials: [] };
  assert.deepEqual(credentialsOfSecret(secret("Opaque", ".dockerconfigjson", { auths: login })), nothing);
  assert.deepEqual(credentialsOfSecret(secret("kubernetes.io/dockerconfigjson", "other", { auths: login })), nothing);
  assert.deepEqual(credentialsOfSecret({ type: "kubernetes.io/dockercfg", data: { ".dockercfg": "" } }), nothing);
  assert.deepEqual(credentialsOfSecret({ type: "kubernetes.io/dockercfg" }), nothing);
});

test("a registry named __proto__ is read, and no text makes parsing fail", () => {
  const parsed = parseDockerConfig('{"auths":{"__proto__":{"username":"u"}}}', "config.json");
  assert.deepEqual(parsed, { kind: "credentials", credentials: [["__proto__", { username: "u", password: "" }]] });
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), fc.string(), (text, place) => {
      for (const form of ["config.json", ".dockercfg"] as const) parseDockerConfig(text, form);
      credentialsFor("docker.io/library/x", { ofPod: [credentials(place)], ofNode: [] });
    }),
  );
});
