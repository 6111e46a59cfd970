/** Prints collected types as TypeScript modules, in an order that depends only on names. */
import type { NamedType, TypeName } from "./collect-types.ts";

const HEADER = "// Generated from the API server's OpenAPI documents by tools/generate/api-types.ts. Do not edit.\n";

/** File name → text, sorted. */
export function printModules(types: readonly NamedType[]): ReadonlyMap<string, string> {
  const modules = [...new Set(types.map((type) => type.module))].sort();
  return new Map(
    modules.map((module) => {
      const own = types.filter((type) => type.module === module).sort(byName);
      return [`${module}.ts`, [HEADER, printImports(module, own), ...own.map(printType)].join("\n")];
    }),
  );
}

function printImports(module: string, own: readonly NamedType[]): string {
  const foreign = own
    .flatMap((type) => type.fields.flatMap((field) => field.type.uses))
    .filter((use) => use.module !== module);
  const taken = new Map(own.map((type) => [type.name, module]));
  for (const { name, module: from } of foreign) {
    const before = taken.get(name);
    if (before !== undefined && before !== from)
      throw new Error(`${module} names ${name} of both ${before} and ${from}`);
    taken.set(name, from);
  }
  return [...new Set(foreign.map((use) => use.module))]
    .sort()
    .map((from) => {
      const names = [...new Set(foreign.filter((use) => use.module === from).map((use) => use.name))].sort();
      return `import type { ${names.join(", ")} } from "./${from}.ts";\n`;
    })
    .join("");
}

function printType(type: NamedType): string {
  const fields = [...type.fields]
    .sort(byName)
    .map((field) => `  readonly ${printKey(field.name)}${field.required ? "" : "?"}: ${field.type.text};\n`);
  return `export interface ${type.name} {\n${fields.join("")}}\n`;
}

const printKey = (name: string) => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name));

const byName = (a: Pick<TypeName, "name">, b: Pick<TypeName, "name">) =>
  a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
