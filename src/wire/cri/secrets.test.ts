import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutSecrets } from "./secrets.ts";

test("redacts a password as plain, URL-encoded and Basic text", () => {
  const credentials = { username: "u", password: "p/w" };
  const header = Buffer.from("u:p/w").toString("base64");
  const text = `get https://u:p%2Fw@r/v2: 401, sent p/w as Basic ${header}`;
  assert.equal(
    withoutSecrets(text, credentials),
    "get https://u:[redacted]@r/v2: 401, sent [redacted] as Basic [redacted]",
  );
});

test("redacts auth, the password inside it, and tokens", () => {
  const auth = Buffer.from("u:inside").toString("base64");
  const credentials = { auth, identityToken: "id-token", registryToken: "reg-token" };
  assert.equal(withoutSecrets(`${auth} inside id-token reg-token`, credentials), Array(4).fill("[redacted]").join(" "));
});

test("redacts a secret completely that contains another secret", () => {
  assert.equal(withoutSecrets("abcdef", { password: "abc", registryToken: "abcdef" }), "[redacted]");
});

test("changes no text without credentials or with empty ones", () => {
  assert.equal(withoutSecrets("text", undefined), "text");
  assert.equal(withoutSecrets("text", { username: "text", password: "" }), "text");
});
