/** Converts OpenAPI schemas to TypeScript types: follows references from the root kinds, and rejects unknown shapes. */

export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

export type SchemaTable = Readonly<Record<string, Schema>>;

/** The TypeScript text of a type, with the other types it names. */
interface TypeText {
  readonly text: string;
  readonly uses: readonly TypeName[];
}

export interface TypeName {
  /** For example "core-v1": one file per module. */
  readonly module: string;
  readonly name: string;
}

interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly type: TypeText;
}

export interface NamedType extends TypeName {
  readonly fields: readonly Field[];
}

/**
 * Schemas that are a single value on the wire, whatever their definition says. Clients may send a Quantity as a number,
 * but the server never does.
 */
const values: Readonly<Record<string, string>> = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": "string",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "string",
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "string",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "number | string",
};

export function collectTypes(roots: readonly string[], schemas: ReadonlyMap<string, Schema>): readonly NamedType[] {
  const done = new Map<string, NamedType>();
  const open = [...roots];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (done.has(id)) continue;
    const schema = schemas.get(id);
    if (schema === undefined) throw new Error(`no schema ${id}`);
    const required = new Set(schema.required);
    const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => ({
      name,
      required: required.has(name),
      type: typeOf(property, schemas, (reference) => open.push(reference)),
    }));
    done.set(id, { ...nameOf(id), fields });
  }
  return [...done.values()];
}

function typeOf(schema: Schema, schemas: ReadonlyMap<string, Schema>, refer: (id: string) => void): TypeText {
  const inner = (part: Schema) => typeOf(part, schemas, refer);
  const reference = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0]?.$ref : undefined);
  if (reference !== undefined) return referenceTo(reference.split("/").at(-1) ?? "", schemas, refer);
  switch (schema.type) {
    case "string":
    case "boolean":
      return { text: schema.type, uses: [] };
    case "integer":
    case "number":
      return { text: "number", uses: [] };
    case "array": {
      if (schema.items === undefined) throw new Error("an array without items");
      const { text, uses } = inner(schema.items);
      return { text: `readonly ${text.includes(" ") ? `(${text})` : text}[]`, uses };
    }
    case "object": {
      if (typeof schema.additionalProperties !== "object") return { text: "unknown", uses: [] };
      const { text, uses } = inner(schema.additionalProperties);
      return { text: `Readonly<Record<string, ${text}>>`, uses };
    }
    case undefined:
      // The server describes a field with any JSON value by an empty schema.
      if (schema.oneOf === undefined && schema.allOf === undefined) return { text: "unknown", uses: [] };
      break;
    default:
  }
  throw new Error(`a shape without a type of ours: ${JSON.stringify(schema).slice(0, 300)}`);
}

function referenceTo(id: string, schemas: ReadonlyMap<string, Schema>, refer: (id: string) => void): TypeText {
  const value = values[id];
  if (value !== undefined) return { text: value, uses: [] };
  const schema = schemas.get(id);
  if (schema === undefined) throw new Error(`no schema ${id}`);
  if (schema.properties === undefined) return typeOf(schema, schemas, refer);
  refer(id);
  const name = nameOf(id);
  return { text: name.name, uses: [name] };
}

/** "io.k8s.api.core.v1.Pod" → core-v1, Pod. */
function nameOf(id: string): TypeName {
  const [group, version, name] = id.split(".").slice(-3);
  if (name === undefined || version === undefined || group === undefined) throw new Error(`odd schema name ${id}`);
  return { module: `${group}-${version}`, name };
}
