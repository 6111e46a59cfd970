import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResourceAllocation } from "./allocation.ts";
import { checksumOf, decodeCheckpoint, encodeCheckpoint } from "./checkpoint.ts";

const UPSTREAM =
  '{"data":"{\\"entries\\":{\\"pod1\\":{\\"ContainerResources\\":{\\"container1\\":{\\"requests\\":{\\"cpu\\":\\"1Ki\\",\\"memory\\":\\"1Ki\\"}}}}}}","checksum":1178570812}';

void test("[27.2.4] checksums match upstream's examples", () => {
  assert.equal(checksumOf('{"entries":{}}'), 1_057_365_947);
  assert.deepEqual(decodeCheckpoint(UPSTREAM), {
    kind: "read",
    isOwn: false,
    pods: new Map([["pod1", { containers: { container1: { requests: { cpu: "1Ki", memory: "1Ki" } } } }]]),
  });
});

void test("[27.2.4] an encoded checkpoint decodes again, with Go's key order and HTML escapes", () => {
  const allocation: ResourceAllocation = {
    containers: { b: {}, a: { requests: { memory: "1Gi", cpu: "1" }, limits: { cpu: "2" } } },
    podLevel: { limits: { memory: "2Gi" } },
  };
  const text = encodeCheckpoint(
    new Map([
      ["<u2>", { containers: {} }],
      ["u1", allocation],
    ]),
  );
  const { data } = JSON.parse(text) as { readonly data: string };
  assert.equal(
    data,
    '{"entries":{"\\u003cu2\\u003e":{"ContainerResources":{},"PodLevelResources":null},' +
      '"u1":{"ContainerResources":{"a":{"limits":{"cpu":"2"},"requests":{"cpu":"1","memory":"1Gi"}},"b":{}},' +
      '"PodLevelResources":{"limits":{"memory":"2Gi"}}}}}',
  );
  const found = decodeCheckpoint(text);
  assert.deepEqual(found.kind === "read" && found.pods.get("u1"), allocation);
  assert.equal(encodeCheckpoint(new Map()), `{"data":"{}","checksum":${checksumOf("{}")},"writer":"deckhand"}`);
  assert.ok(found.kind === "read" && found.isOwn);
});

void test("[27.1.27] an invalid checkpoint decodes as corrupt, without an exception", () => {
  const signed = (data: string) => JSON.stringify({ data, checksum: checksumOf(data) });
  const texts = [
    "",
    "[]",
    "{}",
    UPSTREAM.replace("1178570812", "1178570813"),
    signed("nonsense"),
    signed('{"entries":{"u":7}}'),
    signed('{"entries":{"u":{"ContainerResources":[]}}}'),
    signed('{"entries":{"u":{"ContainerResources":{"c":{"requests":{"cpu":"lots"}}}}}}'),
    signed('{"entries":{"u":{"ContainerResources":{},"PodLevelResources":"x"}}}'),
  ];
  assert.deepEqual(
    texts.map((text) => decodeCheckpoint(text).kind),
    texts.map(() => "corrupt"),
  );
});
