import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogSettings } from "../options/compiled-options.ts";
import { createLog } from "./log.ts";

const settings: LogSettings = { format: "text", verbosity: 0, modules: [], flushEveryMs: 5000, splitStream: false };

/** 2026-11-14 23:16:21.123456 in the time zone of the test. */
const wallMs = new Date(2026, 10, 14, 23, 16, 21, 123).getTime() + 0.456;

function recorded(changes: Partial<LogSettings> = {}) {
  const lines: string[] = [];
  const errors: string[] = [];
  const log = createLog(
    { ...settings, ...changes },
    {
      clock: { wallMs: () => wallMs },
      pid: 12_345,
      info: { write: (line) => void lines.push(line) },
      errors: { write: (line) => void errors.push(line) },
    },
  );
  return { lines, errors, log };
}

void test("[22.4] text format is klog's, with the module in place of the file", () => {
  const { lines, errors, log } = recorded();
  log.of("status").info(0, 'Patched "it"', {
    pod: { namespace: "default", name: "web" },
    attempt: 2,
    ok: true,
    node: { name: "n1" },
  });
  log
    .of("status")
    .error("Failed", new Error("outer", { cause: new Error("inner") }), { pod: { namespace: "a", name: "b" } });
  log.of("status").info(0, "Several", { err: "one\ntwo", list: ["a"], nothing: undefined });
  assert.deepEqual(lines, [
    'I1114 23:16:21.123456   12345 status] "Patched \\"it\\"" pod="default/web" attempt=2 ok=true node="n1"\n',
    'I1114 23:16:21.123456   12345 status] "Several" err=<\n\tone\n\ttwo\n > list=["a"]\n',
  ]);
  assert.deepEqual(errors, ['E1114 23:16:21.123456   12345 status] "Failed" err="outer: inner" pod="a/b"\n']);
});

void test("[22.4] JSON format has Kubernetes' fields in order, and errors have no v", () => {
  const { lines, errors, log } = recorded({ format: "json" });
  log.of("status").info(0, "Patched", { pod: { namespace: "default", name: "web" }, bytes: 5n });
  log.of("status").error("Failed", new Error("no"), { v: 1 });
  assert.deepEqual(lines, [
    `{"ts":${wallMs},"caller":"status","msg":"Patched","v":0,"pod":{"namespace":"default","name":"web"},"bytes":5}\n`,
  ]);
  assert.deepEqual(errors, [`{"ts":${wallMs},"caller":"status","msg":"Failed","err":"no","v_":1}\n`]);
});

void test("[22.4] a line is logged up to its module's verbosity, set by the first matching pattern", () => {
  const modules = [
    { filePattern: "pod-*", verbosity: 5 },
    { filePattern: "pod-workers", verbosity: 0 },
  ];
  const { lines, log } = recorded({ verbosity: 2, modules });
  for (const module of ["status", "pod-workers"])
    for (const level of [2, 3, 5, 6]) log.of(module).info(level, `${module} ${level}`);
  assert.deepEqual(
    lines.map((line) => /"(.*)"/.exec(line)?.[1]),
    ["status 2", "pod-workers 2", "pod-workers 3", "pod-workers 5"],
  );
});

const CANARY = "c4n4ryc4n4ryc4n4ry";
const JWT = `eyJhbGciOiJSUzI1NiJ9.eyJzdWIi${CANARY}.${CANARY}`;

for (const format of ["text", "json"] as const) {
  void test(`[22.4] secrets are masked in fields, messages and errors (${format})`, () => {
    const { lines, errors, log } = recorded({ format });
    const said = log.of("x");
    const secrets: readonly Readonly<Record<string, unknown>>[] = [
      { token: CANARY },
      { deep: { headers: { Authorization: [`Bearer ${CANARY}`] } } },
      { list: [{ password: CANARY }] },
      { identity_token: CANARY, "client-key-data": CANARY, staticPodURLHeader: { "X-Key": [CANARY] } },
      { map: new Map([["password", CANARY]]) },
      { text: `Authorization: Bearer ${CANARY}` },
      { text: `header Basic ${CANARY}==` },
      { text: JWT },
      { text: `{"auths":{"r":{"auth":"${CANARY}","password":"${CANARY}"}}}` },
      { text: `https://user:${CANARY}@registry/v2?access_token=${CANARY}` },
      { text: `-----BEGIN EC PRIVATE KEY-----\n${CANARY}\n-----END EC PRIVATE KEY-----` },
      { cause: new Error(`got Bearer ${CANARY}`) },
      { bootstrap: "abcdef.0123456789abcdef" },
      { bytes: Buffer.from(CANARY) },
    ];
    for (const fields of secrets) said.info(0, "said", fields);
    said.info(0, `Bearer ${CANARY}`);
    said.error(`password=${CANARY}`, new Error(`token=${CANARY}`, { cause: new Error(JWT) }), { token: CANARY });
    assert.equal(lines.length + errors.length, secrets.length + 2);
    const all = [...lines, ...errors].join("");
    assert.ok(!all.includes(CANARY) && !all.includes("0123456789abcdef"), all);
    assert.ok(all.includes("<masked>") && all.includes("registry/v2"));
  });
}

void test("images, Secret names and digests are not masked", () => {
  const { lines, log } = recorded();
  log.of("x").info(0, "Pulled", {
    image: "registry.k8s.io/pause:3.10",
    secret: { namespace: "a", name: "pull" },
    digest: "sha256:0123456789abcdef",
  });
  assert.match(
    lines[0] ?? "",
    /image="registry\.k8s\.io\/pause:3\.10" secret="a\/pull" digest="sha256:0123456789abcdef"/,
  );
});

void test("a cyclic value is logged as one line", () => {
  const { lines, log } = recorded();
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  log.of("x").info(0, "Loop", { loop });
  assert.equal(lines.length, 1);
});
