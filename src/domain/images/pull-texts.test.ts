import assert from "node:assert/strict";
import { test } from "node:test";
import { rpcErrorText } from "../../base/grpc-status.ts";
import {
  backOffText,
  failedPullText,
  imagePullBackOffText,
  inspectFailedText,
  invalidNameText,
  neverPullText,
  presentText,
  pullErrorText,
  pulledText,
  pullFailure,
  pullingText,
  secretsMissingText,
} from "./pull-messages.ts";
import { nextNoteMs, podOfPull, progressText, pullKey, type UnderWay } from "./pull-progress.ts";

test("[9.1] an image that cannot be used has upstream's message", () => {
  assert.equal(neverPullText("x"), 'Container image "x" is not present with pull policy of Never');
  assert.equal(invalidNameText("x y", "why"), 'Failed to apply default image tag "x y": why');
  assert.equal(
    inspectFailedText(rpcErrorText("unavailable", "no connection")),
    'Failed to inspect image "": rpc error: code = Unavailable desc = no connection',
  );
  assert.match(rpcErrorText("cancelled", "x"), /code = Canceled desc = x$/);
});

test("[9.2] pull messages have durations as Go prints them and the size in bytes", () => {
  assert.equal(pullingText("x"), 'Pulling image "x"');
  assert.equal(presentText("x"), 'Container image "x" already present on machine and can be accessed by the pod');
  assert.equal(
    pulledText("x", { pullMs: 1_200.7, wholeMs: 63_400, sizeBytes: 12n }),
    'Successfully pulled image "x" in 1.2s (1m3.4s including waiting). Image size: 12 bytes.',
  );
  assert.match(pulledText("x", { pullMs: 87, wholeMs: 87, sizeBytes: 0n }), /in 87ms \(87ms including waiting\)/);
  assert.match(pulledText("x", { pullMs: 60_000, wholeMs: 2_000, sizeBytes: 0n }), /in 2s \(2s including waiting\)/);
  assert.equal(failedPullText("x", "why"), 'Failed to pull image "x": why');
});

test("[9.5] missing pull Secrets are reported by name", () => {
  assert.equal(
    secretsMissingText(["a", "b"]),
    "Unable to retrieve some image pull secrets (a, b); attempting to pull the image may not succeed.",
  );
});

test("[9.3] a failed pull has reason RegistryUnavailable, SignatureValidationFailed or ErrImagePull", () => {
  assert.deepEqual(pullFailure("x", "not found"), { reason: "ErrImagePull", message: "not found" });
  assert.deepEqual(pullFailure("x", "RegistryUnavailable: down"), {
    reason: "RegistryUnavailable",
    message: "image pull failed for x because the registry is unavailable: down",
  });
  assert.deepEqual(pullFailure("x", "SignatureValidationFailed: no signature"), {
    reason: "SignatureValidationFailed",
    message: "image pull failed for x because the signature validation failed: no signature",
  });
  assert.equal(backOffText("x"), 'Back-off pulling image "x"');
  assert.equal(
    imagePullBackOffText("x", { reason: "ErrImagePull", message: "not found" }),
    'Back-off pulling image "x": ErrImagePull: not found',
  );
});

test("[9.2] a pull error keeps its gRPC code unless unknown, and credentials in URLs are redacted", () => {
  assert.equal(pullErrorText("unknown", "no such host"), "no such host");
  assert.equal(pullErrorText("notFound", "gone"), "rpc error: code = NotFound desc = gone");
  assert.equal(
    pullErrorText("unknown", 'Get "https://me:word@s3.io/b?X-Amz-Signature=abc&x=1&sig=zz": 403'),
    'Get "https://[redacted]@s3.io/b?X-Amz-Signature=[redacted]&x=1&sig=[redacted]": 403',
  );
  const plain = "GET request to https://auth.io/token?scope=repository%3Ax%3Apull&service=r.io: 401 Unauthorized";
  assert.equal(pullErrorText("unknown", plain), plain);
});

test("pull progress is reported after 5 s and then every 30 s, with the place in the queue", () => {
  const pulling: UnderWay = { kind: "pulling", sinceMonotonicMs: 1_000, lastFailure: undefined };
  const queued: UnderWay = { ...pulling, kind: "queued", position: 3 };
  const at = [5_999, 6_000, 30_999, 31_000, 91_000];
  assert.deepEqual(
    at.map((now) => progressText("x", pulling, now)),
    [undefined, 'Pulling image "x"', 'Pulling image "x"', 'Pulling image "x" for 30s', 'Pulling image "x" for 1m30s'],
  );
  assert.equal(progressText("x", queued, 7_000), 'Image "x" waits to be pulled, number 3 in the queue');
  assert.equal(progressText("x", queued, 31_000), 'Image "x" waits for 30s to be pulled, number 3 in the queue');
  assert.deepEqual(
    at.map((now) => nextNoteMs(pulling, now)),
    [1, 25_000, 1, 30_000, 30_000],
  );
});

test("the key of a pull contains the UID of its pod", () => {
  assert.equal(podOfPull(pullKey("uid-1", "volume a/b")), "uid-1");
});
