/**
 * Generates a table of the types below one kind, to check the one object that no API server has validated: a static
 * pod's manifest. A field is one token: a scalar, or `#Name` for another type. `[]` before it marks a list, `{}` a map;
 * a leading `!` marks a required field.
 */
import type { Schema } from "./collect-types.ts";

const scalars: Readonly<Record<string, string>> = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "time",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "intOrString",
};

const HEADER = "// Generated from the API server's OpenAPI documents by tools/generate/shapes.ts. Do not edit.\n";

export function printShapes(constant: string, root: string, schemas: ReadonlyMap<string, Schema>): string {
  const done = new Map<string, string>();
  const open = [root];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const name = shortName(id);
    if (done.has(name)) continue;
    const { properties = {}, required = [] } = schemas.get(id) ?? {};
    const fields = Object.entries(properties)
      .map(([field, schema]) => {
        const text = `${required.includes(field) ? "!" : ""}${word(schema, schemas, open)}`;
        return `    ${JSON.stringify(field)}: ${JSON.stringify(text)},\n`;
      })
      .sort();
    done.set(name, `  ${name}: {\n${fields.join("")}  },\n`);
  }
  const shapes = [...done.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  return `${HEADER}\nexport const ${constant}: Readonly<Record<string, Readonly<Record<string, string>>>> = {\n${shapes.join("")}};\n`;
}

function word(schema: Schema, schemas: ReadonlyMap<string, Schema>, open: string[]): string {
  const reference = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0]?.$ref : undefined);
  if (reference !== undefined) return referred(reference.split("/").at(-1) ?? "", schemas, open);
  switch (schema.type) {
    case "string":
      return schema.format === "byte" ? "bytes" : "string";
    case "boolean":
      return "boolean";
    case "integer":
      return schema.format === "int64" ? "int64" : "int32";
    case "array":
      if (schema.items === undefined) throw new Error("an array without items");
      return `[]${word(schema.items, schemas, open)}`;
    case "object":
      if (typeof schema.additionalProperties !== "object") return "any";
      return `{}${word(schema.additionalProperties, schemas, open)}`;
    default:
      throw new Error(`a shape without a word of ours: ${JSON.stringify(schema).slice(0, 300)}`);
  }
}

function referred(id: string, schemas: ReadonlyMap<string, Schema>, open: string[]): string {
  const scalar = scalars[id];
  if (scalar !== undefined) return scalar;
  const schema = schemas.get(id);
  if (schema === undefined) throw new Error(`no schema ${id}`);
  if (schema.properties === undefined) return word(schema, schemas, open);
  open.push(id);
  return `#${shortName(id)}`;
}

const shortName = (id: string) => id.split(".").at(-1) ?? id;
