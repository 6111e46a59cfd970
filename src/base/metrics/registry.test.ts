import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BugError } from "../assert.ts";
import { Registry } from "./registry.ts";

void describe("metric registry", () => {
  void test("sorts families by name, series by labels, and labels by name", () => {
    const registry = new Registry();
    const calls = registry.counter({ name: "calls_total", help: "Calls.", labels: ["method", "code"] });
    const busy = registry.gauge({ name: "busy", help: "Busy.", labels: [] });
    calls.increment("GET", "404");
    calls.add(2, "GET", "200");
    calls.increment("DELETE", "404");
    busy.set(3);
    busy.add(-1);
    assert.deepEqual(registry.collect(), [
      { name: "busy", help: "Busy.", kind: "gauge", samples: [{ labels: [], value: 2 }] },
      {
        name: "calls_total",
        help: "Calls.",
        kind: "counter",
        samples: [
          { labels: pairs("200", "GET"), value: 2 },
          { labels: pairs("404", "DELETE"), value: 1 },
          { labels: pairs("404", "GET"), value: 1 },
        ],
      },
    ]);
  });

  void test("collects a metric without labels from the start, and a labelled one from its first value or expect()", () => {
    const registry = new Registry();
    registry.counter({ name: "plain_total", help: "", labels: [] });
    registry.counter({ name: "unseen_total", help: "", labels: ["kind"] });
    registry.counter({ name: "expected_total", help: "", labels: ["kind"] }).expect("pod");
    assert.deepEqual(
      registry.collect().map(({ name, samples }) => [name, samples]),
      [
        ["expected_total", [{ labels: [["kind", "pod"]], value: 0 }]],
        ["plain_total", [{ labels: [], value: 0 }]],
      ],
    );
  });

  void test("counts a value in every bucket whose bound is not below it", () => {
    const registry = new Registry();
    const took = registry.histogram({ name: "took", help: "", labels: [], buckets: [1, 2, 5] });
    for (const value of [0.5, 1, 1.5, 5, 6, Number.POSITIVE_INFINITY]) took.observe(value);
    const buckets = [
      [1, 2],
      [2, 3],
      [5, 4],
    ];
    assert.deepEqual(registry.collect()[0]?.samples, [
      { labels: [], buckets, count: 6, sum: Number.POSITIVE_INFINITY },
    ]);
  });

  void test("reads values from a callback at collection", () => {
    const registry = new Registry();
    const values: [number, string][] = [[1, "b"]];
    registry.reads({ kind: "gauge", name: "pods", help: "", labels: ["state"] }, () => values);
    values.push([2, "a"]);
    assert.deepEqual(registry.collect()[0]?.samples, [
      { labels: [["state", "a"]], value: 2 },
      { labels: [["state", "b"]], value: 1 },
    ]);
  });

  void test('puts further series into "other" once a family has seriesMax series', () => {
    const registry = new Registry();
    const asked = registry.counter({ name: "asked_total", help: "", labels: ["path", "code"], seriesMax: 3 });
    for (let path = 0; path < 1000; path += 1) asked.increment(`/${path}`, "200");
    asked.increment("/1", "200");
    assert.deepEqual(
      registry
        .collect()[0]
        ?.samples.map((sample) => [sample.labels.map(([, value]) => value).join(), "value" in sample && sample.value]),
      [
        ["200,/0", 1],
        ["200,/1", 2],
        ["200,/2", 1],
        ["other,other", 997],
      ],
    );
  });

  void test("keeps series apart whose joined label values are equal", () => {
    const registry = new Registry();
    const counter = registry.counter({ name: "pairs_total", help: "", labels: ["a", "b"] });
    counter.increment("x,", "y");
    counter.increment("x", ",y");
    assert.equal(registry.collect()[0]?.samples.length, 2);
  });

  void test("throws BugError for a duplicate family name and for descending bucket bounds", () => {
    const registry = new Registry();
    registry.gauge({ name: "one", help: "", labels: [] });
    assert.throws(() => registry.counter({ name: "one", help: "", labels: [] }), BugError);
    assert.throws(() => registry.histogram({ name: "two", help: "", labels: [], buckets: [2, 1] }), BugError);
  });
});

const pairs = (code: string, method: string) => [
  ["code", code],
  ["method", method],
];
