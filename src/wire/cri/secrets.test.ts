import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutSecrets } from "./secrets.ts";

test("a password goes in every form it travels in", () => {
  const credentials = { username: "u", password: "p/w" };
  const header = Buffer.from("u:p/w").toString("base64");
  const text = `get https://u:p%2Fw@r/v2: 401, sent p/w as Basic ${header}`;
  assert.equal(
    withoutSecrets(text, credentials),
    "get https://u:[redacted]@r/v2: 401, sent [redacted] as Basic [redacted]",
  );
});

test("what is inside an auth word goes too, and so do tokens", () => {
  const auth = Buffer.from("u:inside").toString("base64");
  const credentials = { auth, identityToken: "id-token", registryToken: "reg-token" };
  assert.equal(withoutSecrets(`${auth} inside id-token reg-token`, credentials), Array(4).fill("[redacted]").join(" "));
});

test("a secret that is part of another leaves no rest of it", () => {
  assert.equal(withoutSecrets("abcdef", { password: "abc", registryToken: "abcdef" }), "[redacted]");
});

test("without credentials, or with empty ones, nothing changes", () => {
  assert.equal(withoutSecrets("text", undefined), "text");
  assert.equal(withoutSecrets("text", { username: "text", password: "" }), "text");
});
