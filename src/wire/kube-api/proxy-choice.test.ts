import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseProxyUrl, proxyFromEnvironment } from "./proxy-choice.ts";

const SERVER = "https://api.shop.example:6443";
const chosen = (environment: Readonly<Record<string, string>>, server = SERVER) =>
  proxyFromEnvironment(new URL(server), environment)?.href;

describe("[2.10] the proxy of the environment", () => {
  test("HTTPS_PROXY is used in both spellings, the upper case first, and without a scheme as http", () => {
    assert.equal(chosen({}), undefined);
    assert.equal(chosen({ HTTPS_PROXY: "http://p:3128", https_proxy: "http://other" }), "http://p:3128/");
    assert.equal(chosen({ https_proxy: "p:3128" }), "http://p:3128/");
    assert.equal(chosen({ HTTP_PROXY: "http://p:3128", ALL_PROXY: "http://p:3128" }), undefined);
  });

  test("a proxy that is no HTTP proxy is an error", () => {
    assert.throws(() => chosen({ HTTPS_PROXY: "ftp://p" }), /^Error: unsupported scheme, must be http or https$/);
    for (const text of ["nonsense", "http://agent:se/cret@p:1", "agent:secret@p:1", "http://agent:secret%@p:1"]) {
      assert.throws(
        () => parseProxyUrl(text),
        (error: Error) => !/agent|se.?cret|nonsense/.test(error.message),
      );
    }
  });

  for (const [noProxy, server, isExcluded] of [
    ["", SERVER, false],
    ["", "https://localhost:6443", true],
    ["", "https://127.0.0.2:6443", true],
    ["", "https://[::1]:6443", true],
    ["*", SERVER, true],
    ["other.example, shop.example", SERVER, true],
    ["SHOP.example", SERVER, true],
    ["api.shop.example", SERVER, true],
    [".shop.example", SERVER, true],
    ["*.shop.example", SERVER, true],
    [".api.shop.example", SERVER, false],
    ["op.example", SERVER, false],
    ["shop.example:6443", SERVER, true],
    ["shop.example:443", SERVER, false],
    ["shop.example:443", "https://api.shop.example", true],
    [":6443", SERVER, false],
    ["10.0.0.0/8", "https://10.1.2.3:6443", true],
    ["10.0.0.0/16", "https://10.1.2.3:6443", false],
    ["10.0.0.0/33", "https://10.1.2.3:6443", false],
    ["10.1.2.3", "https://10.1.2.3:6443", true],
    ["10.1.2.3:443", "https://10.1.2.3:6443", false],
    ["2001:db8::/32", "https://[2001:db8::1]:6443", true],
    ["[2001:db8::1]:6443", "https://[2001:db8::1]:6443", true],
    ["2001:db8::1", "https://[2001:db8::1]:6443", true],
    ["10.0.0.0/8", SERVER, false],
  ] as const) {
    test(`NO_PROXY="${noProxy}" ${isExcluded ? "excludes" : "does not exclude"} ${server}`, () => {
      assert.equal(chosen({ HTTPS_PROXY: "http://p:3128", NO_PROXY: noProxy }, server) === undefined, isExcluded);
    });
  }
});
