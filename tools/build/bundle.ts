/** Makes the one file that is shipped: every source and package in one ES module, the same bytes for the same tree. */
import { builtinModules } from "node:module";
import { basename } from "node:path";
import { build, type Plugin } from "esbuild";
import { repositoryRoot } from "../repository.ts";

/** Some packages are CommonJS and call `require`, which an ES module does not have. */
const BANNER = `#!/usr/bin/env node
const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);`;

/**
 * Node's modules are taken as they are instead of being imported: an import reads each of a module's exports, and with that loads what
 * hides behind them (WebSockets behind `node:http`): in one run each, on a busy machine, 75 ms of a profiled start and 3.7 MB resident.
 */
const builtins: Plugin = {
  name: "node's own modules",
  setup(build) {
    const named = new Set(builtinModules);
    build.onResolve({ filter: /^[a-z]/ }, ({ path }) => {
      const name = path.replace(/^node:/, "");
      return named.has(name) || path !== name ? { path: name, namespace: "builtin" } : undefined;
    });
    build.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule("node:${path}");`,
    }));
  },
};

const COMMON = {
  absWorkingDir: repositoryRoot,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node24",
  // Half the text to read and to keep. With one letter beyond ASCII the engine would keep all of it in two bytes each.
  minifyWhitespace: true,
  minifySyntax: true,
  charset: "ascii",
  logLevel: "warning",
} as const;

/** The address of a thread's program stands in a module of its own; in the bundle it is the program itself, which has no file. */
const THREADS: Readonly<Record<string, { readonly exported: string; readonly entry: string }>> = {
  "stats-program.ts": { exported: "statsProgram", entry: "src/wire/stats/thread/main.ts" },
};

const threads: Plugin = {
  name: "programs of threads",
  setup(build) {
    build.onLoad({ filter: /\/src\/app\/[a-z-]+-program\.ts$/ }, async ({ path }) => {
      const thread = THREADS[basename(path)];
      if (thread === undefined) return undefined;
      const address = JSON.stringify(await threadAddress(thread.entry));
      return { contents: `export const ${thread.exported} = new URL(${address});`, loader: "js" };
    });
  },
};

/** As text that a thread can be started from. */
async function threadAddress(entry: string): Promise<string> {
  const { outputFiles } = await build({ ...COMMON, entryPoints: [entry], write: false, plugins: [builtins] });
  const [program] = outputFiles;
  if (program === undefined) throw new Error(`${entry} was bundled to nothing`);
  return `data:text/javascript;base64,${Buffer.from(program.contents).toString("base64")}`;
}

export async function buildBundle(outfile: string, entry = "src/app/main.ts"): Promise<void> {
  await build({
    ...COMMON,
    entryPoints: [entry],
    outfile,
    banner: { js: BANNER },
    plugins: [threads, builtins],
    sourcemap: "external",
    legalComments: "inline",
  });
}
