import assert from "node:assert/strict";
import { test } from "node:test";
import { PULL_RATE_EXCEEDED } from "./pull-messages.ts";
import { afterPull, isUnreachable } from "./registry-reachability.ts";

const failed = (why: string) =>
  `failed to pull and unpack image "r.example/a:1": failed to resolve reference "r.example/a:1": ${why}`;

test("[9.10] a registry that did not answer is unreachable, one that answered is not", () => {
  const unreachable = [
    failed('failed to do request: Head "https://r.example/v2/": dial tcp 198.18.0.1:443: connect: connection refused'),
    failed('failed to do request: Head "https://r.example/v2/": dial tcp: lookup r.example: no such host'),
    failed('failed to do request: Head "https://r.example/v2/": net/http: TLS handshake timeout'),
    failed('failed to do request: Head "https://r.example/v2/": EOF'),
    failed("unexpected status from HEAD request to https://r.example/v2/: 503 Service Unavailable"),
    "RegistryUnavailable: no answer",
  ];
  const reachable = [
    failed("r.example/a:1: not found"),
    failed("unexpected status from HEAD request to https://r.example/v2/: 401 Unauthorized"),
    failed("pull access denied, repository does not exist or may require authorization"),
    "failed to extract layer: no space left on device",
  ];
  assert.deepEqual([unreachable.filter((text) => !isUnreachable(text)), reachable.filter(isUnreachable)], [[], []]);
});

test("[9.10] the last pull from a registry decides whether it is unreachable", () => {
  const none: ReadonlySet<string> = new Set();
  const away = afterPull(none, "r.example", "dial tcp: no such host");
  assert.deepEqual([...away], ["r.example"]);
  assert.equal(afterPull(away, "r.example", "dial tcp: no such host"), away);
  assert.deepEqual([...afterPull(away, "r.example", undefined)], []);
  assert.deepEqual([...afterPull(away, "r.example", "not found")], []);
  assert.equal(afterPull(away, "r.example", PULL_RATE_EXCEEDED), away);
  assert.deepEqual([...afterPull(away, "other.example", undefined)], ["r.example"]);
});
