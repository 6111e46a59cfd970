import assert from "node:assert/strict";
import { test } from "node:test";
import { collectTypes, type Schema } from "./collect-types.ts";
import { printModules } from "./print-types.ts";

const ref = (id: string): Schema => ({ $ref: `#/components/schemas/${id}` });
const time = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
const intOrString = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";

function print(schemas: Readonly<Record<string, Schema>>, root: string): ReadonlyMap<string, string> {
  return printModules(collectTypes([root], new Map(Object.entries(schemas))));
}

void test("converts every schema shape the server uses, with types and fields sorted by name", () => {
  const text = print(
    {
      "x.core.v1.Thing": {
        properties: {
          when: ref(time),
          port: { allOf: [ref(intOrString)] },
          ports: { type: "array", items: ref(intOrString) },
          labels: { type: "object", additionalProperties: { type: "string" } },
          raw: { type: "object" },
          any: {},
          "odd-name": { type: "boolean" },
          count: { type: "integer", format: "int64" },
          parts: { type: "array", items: { allOf: [ref("x.core.v1.Part")] } },
        },
        required: ["count"],
      },
      "x.core.v1.Part": { properties: { name: { type: "string" } } },
      [time]: { type: "string", format: "date-time" },
      [intOrString]: { oneOf: [{ type: "integer" }, { type: "string" }] },
    },
    "x.core.v1.Thing",
  ).get("core-v1.ts");
  assert.equal(
    text?.split("\n").slice(2).join("\n"),
    `
export interface Part {
  readonly name?: string;
}

export interface Thing {
  readonly any?: unknown;
  readonly count: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly "odd-name"?: boolean;
  readonly parts?: readonly Part[];
  readonly port?: number | string;
  readonly ports?: readonly (number | string)[];
  readonly raw?: unknown;
  readonly when?: string;
}
`,
  );
});

void test("imports a type of another group; rejects two types of the same name from different groups", () => {
  const other: Schema = { properties: { a: { type: "string" } } };
  const one = { "x.a.v1.Root": { properties: { b: ref("x.b.v1.Part") } }, "x.b.v1.Part": other };
  const modules = print(one, "x.a.v1.Root");
  assert.deepEqual([...modules.keys()], ["a-v1.ts", "b-v1.ts"]);
  assert.match(modules.get("a-v1.ts") ?? "", /import type \{ Part \} from "\.\/b-v1\.ts";/);
  const both = {
    "x.a.v1.Root": { properties: { b: ref("x.b.v1.Part"), c: ref("x.c.v1.Part") } },
    "x.b.v1.Part": other,
    "x.c.v1.Part": other,
  };
  assert.throws(() => print(both, "x.a.v1.Root"), /names Part of both b-v1 and c-v1/);
});

void test("rejects an unknown schema shape", () => {
  for (const odd of [{ type: "file" }, { oneOf: [{ type: "string" }] }, { type: "array" }, ref("x.a.v1.Missing")]) {
    assert.throws(() => print({ "x.a.v1.Root": { properties: { odd } } }, "x.a.v1.Root"));
  }
});
