/** Makes the one file that is shipped: every source and package in one ES module, the same bytes for the same tree. */
import { mkdir, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { basename, dirname } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";
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
  metafile: true,
} as const;

/** The address of a thread's program stands in a module of its own; in the bundle it is the program itself, which has no file. */
const THREADS: Readonly<Record<string, { readonly exported: string; readonly entry: string }>> = {
  "stats-program.ts": { exported: "statsProgram", entry: "src/wire/stats/thread/main.ts" },
};

const threads = (note: (metafile: Metafile) => void): Plugin => ({
  name: "programs of threads",
  setup(build) {
    build.onLoad({ filter: /\/src\/app\/[a-z-]+-program\.ts$/ }, async ({ path }) => {
      const thread = THREADS[basename(path)];
      if (thread === undefined) return undefined;
      const { program, metafile } = await threadProgram(thread.entry);
      note(metafile);
      const address = JSON.stringify(`data:text/javascript;base64,${program}`);
      return { contents: `export const ${thread.exported} = new URL(${address});`, loader: "js" };
    });
  },
});

/** In base64, as an address can hold it. */
async function threadProgram(entry: string): Promise<{ readonly program: string; readonly metafile: Metafile }> {
  const { outputFiles, metafile } = await build({ ...COMMON, entryPoints: [entry], write: false, plugins: [builtins] });
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`${entry} was bundled to nothing`);
  return { program: Buffer.from(file.contents).toString("base64"), metafile };
}

/** Answers with the sources of which something is in it, as paths from the repository's root. */
export async function buildBundle(outfile: string, entry = "src/app/main.ts"): Promise<readonly string[]> {
  const parts: Metafile[] = [];
  const { metafile, outputFiles } = await build({
    ...COMMON,
    entryPoints: [entry],
    // The map names the sources as seen from here, wherever the two are written.
    outfile: "dist/deckhand.js",
    write: false,
    banner: { js: BANNER },
    plugins: [threads((part) => void parts.push(part)), builtins],
    sourcemap: "external",
    legalComments: "inline",
  });
  await mkdir(dirname(outfile), { recursive: true });
  for (const { path, contents } of outputFiles)
    await writeFile(path.endsWith(".map") ? `${outfile}.map` : outfile, contents);
  const outputs = [...parts, metafile].flatMap((each) => Object.values(each.outputs));
  const inside = outputs.flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  return [...new Set(inside)].toSorted();
}
