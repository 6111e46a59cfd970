import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { expositionText, readExposition } from "../../../test/support/exposition.ts";
import type { ExpositionFormat } from "./exposition.ts";
import type { Family } from "./family.ts";

const examples: readonly Family[] = [
  {
    name: "requests_total",
    help: 'What was asked: "all"\nof it, by C:\\path.',
    kind: "counter",
    samples: [
      { labels: [["path", 'a\\b"c\nd']], value: 3 },
      { labels: [], value: 1_000_000 },
    ],
  },
  { name: "evictions", help: "A counter of an old name.", kind: "counter", samples: [{ labels: [], value: 0 }] },
  {
    name: "start_seconds",
    help: "When.",
    kind: "gauge",
    samples: [{ labels: [], value: 1_700_000_000.5, atWallMs: 1_700_000_000_250 }],
  },
  {
    name: "took_seconds",
    help: "How long.",
    kind: "histogram",
    samples: [
      {
        labels: [["kind", "pull"]],
        buckets: [
          [0.5, 1],
          [1, 2],
          [1_000_000, 1_500_000],
        ],
        count: 1_500_001,
        sum: 12.25,
      },
    ],
  },
];

void describe("metric exposition", () => {
  void test("[20.13] the Prometheus text format is that of client_golang", () => {
    assert.equal(
      expositionText(examples, "text"),
      `# HELP requests_total What was asked: "all"\\nof it, by C:\\\\path.
# TYPE requests_total counter
requests_total{path="a\\\\b\\"c\\nd"} 3
requests_total 1e+06
# HELP evictions A counter of an old name.
# TYPE evictions counter
evictions 0
# HELP start_seconds When.
# TYPE start_seconds gauge
start_seconds 1.7000000005e+09 1700000000250
# HELP took_seconds How long.
# TYPE took_seconds histogram
took_seconds_bucket{kind="pull",le="0.5"} 1
took_seconds_bucket{kind="pull",le="1"} 2
took_seconds_bucket{kind="pull",le="1e+06"} 1.5e+06
took_seconds_bucket{kind="pull",le="+Inf"} 1.500001e+06
took_seconds_sum{kind="pull"} 12.25
took_seconds_count{kind="pull"} 1.500001e+06
`,
    );
  });

  void test("[20.13] OpenMetrics has decimal points, times in seconds, counters without _total, and # EOF", () => {
    assert.equal(
      expositionText(examples, "openMetrics"),
      `# HELP requests What was asked: \\"all\\"\\nof it, by C:\\\\path.
# TYPE requests counter
requests_total{path="a\\\\b\\"c\\nd"} 3.0
requests_total 1e+06
# HELP evictions A counter of an old name.
# TYPE evictions unknown
evictions 0.0
# HELP start_seconds When.
# TYPE start_seconds gauge
start_seconds 1.7000000005e+09 1.70000000025e+09
# HELP took_seconds How long.
# TYPE took_seconds histogram
took_seconds_bucket{kind="pull",le="0.5"} 1
took_seconds_bucket{kind="pull",le="1.0"} 2
took_seconds_bucket{kind="pull",le="1e+06"} 1500000
took_seconds_bucket{kind="pull",le="+Inf"} 1500001
took_seconds_sum{kind="pull"} 12.25
took_seconds_count{kind="pull"} 1500001
# EOF
`,
    );
  });

  void test("without families text is empty and OpenMetrics is # EOF", () => {
    assert.equal(expositionText([], "text"), "");
    assert.equal(expositionText([], "openMetrics"), "# EOF\n");
  });

  for (const format of ["text", "openMetrics"] as const) {
    void test(`${format} output parses back to the same families`, () => {
      fc.assert(fc.property(anyFamilies, (families) => assert.deepEqual(readBack(families, format), flat(families))));
    });
  }
});

const anyName = fc.stringMatching(/^[a-z_:][a-z0-9_:]{0,20}$/).map((name) => `x${name}`);
const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom('"', "\\", "\n", '\\n"', '"} 1\n# EOF\n'),
);
const anyLabels = fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z_][a-z0-9_]{0,8}$/), anyText), {
  selector: ([name]) => name,
  maxLength: 4,
});
const anyNumber = fc.double().map((value) => (value === 0 ? 0 : value));
const anySamples = fc.array(fc.record({ labels: anyLabels, value: anyNumber }), { maxLength: 4 });
const anyPlain = fc.record({
  name: anyName,
  help: anyText,
  kind: fc.constantFrom("counter" as const, "gauge" as const),
  samples: anySamples,
});
const anyHistogram = fc.record({
  name: anyName,
  help: anyText,
  kind: fc.constant("histogram" as const),
  samples: fc.array(
    fc.record({
      labels: anyLabels.map((labels) => labels.filter(([name]) => name !== "le")),
      buckets: fc.array(fc.tuple(anyNumber, fc.nat()), { maxLength: 3 }),
      count: fc.nat(),
      sum: anyNumber,
    }),
    { maxLength: 3 },
  ),
});
const anyFamilies: fc.Arbitrary<readonly Family[]> = fc.uniqueArray(fc.oneof(anyPlain, anyHistogram), {
  selector: ({ name }) => name.replace(/_total$/, ""),
  maxLength: 4,
});

interface Flat {
  readonly family: string;
  readonly help: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const plainName = (name: string): string => name.replace(/_total$/, "");

const readBack = (families: readonly Family[], format: ExpositionFormat): readonly Flat[] =>
  [...readExposition(expositionText(families, format), format).values()].flatMap((family) =>
    family.samples.map(({ name, labels, value }) => ({
      family: plainName(family.name),
      help: family.help,
      name,
      labels: name.endsWith("_bucket") && family.kind === "histogram" ? { ...labels, le: bound(labels["le"]) } : labels,
      value,
    })),
  );

const bound = (text = ""): string => String(text === "+Inf" || text === "-Inf" ? Number(`${text}inity`) : Number(text));

const flat = (families: readonly Family[]): readonly Flat[] =>
  families.flatMap((family) => {
    const common = { family: plainName(family.name), help: family.help };
    if (family.kind !== "histogram")
      return family.samples.map(({ labels, value }) => ({
        ...common,
        name: family.name,
        labels: Object.fromEntries(labels),
        value,
      }));
    return family.samples.flatMap(({ labels, buckets, count, sum }) => {
      const own = Object.fromEntries(labels);
      const bounds: readonly (readonly [number, number])[] = [...buckets, [Number.POSITIVE_INFINITY, count]];
      return [
        ...bounds.map(([upTo, value]) => ({
          ...common,
          name: `${family.name}_bucket`,
          labels: { ...own, le: String(upTo) },
          value,
        })),
        { ...common, name: `${family.name}_sum`, labels: own, value: sum },
        { ...common, name: `${family.name}_count`, labels: own, value: count },
      ];
    });
  });
