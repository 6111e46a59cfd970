/** Builds the single file that ships: all sources and packages in one ES module. The same tree gives the same bytes. */
import { mkdir, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { basename, dirname } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";
import { repositoryRoot } from "../repository.ts";

/** Some packages are CommonJS and call `require`, which ES modules lack. */
const BANNER = `#!/usr/bin/env node
const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);`;

/**
 * Gets Node's modules from process.getBuiltinModule instead of importing them. An import reads each of a module's
 * exports and so loads what lazy exports need (WebSockets behind `node:http`). In one run each, on a busy machine, that
 * was 75 ms of a profiled start and 3.7 MB resident.
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
  // Halves the text to read and to keep. With a single non-ASCII character V8 would store the whole text in two bytes
  // per character.
  minifyWhitespace: true,
  minifySyntax: true,
  charset: "ascii",
  logLevel: "warning",
  metafile: true,
} as const;

/** Each thread program's URL has its own module. In the bundle the URL holds the program itself, which has no file. */
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

/** In base64, for a data URL. */
async function threadProgram(entry: string): Promise<{ readonly program: string; readonly metafile: Metafile }> {
  const { outputFiles, metafile } = await build({ ...COMMON, entryPoints: [entry], write: false, plugins: [builtins] });
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`${entry} was bundled to nothing`);
  return { program: Buffer.from(file.contents).toString("base64"), metafile };
}

/** Returns the sources that contribute to the bundle, as paths relative to the repository's root. */
export async function buildBundle(outfile: string, entry = "src/app/main.ts"): Promise<readonly string[]> {
  const parts: Metafile[] = [];
  const { metafile, outputFiles } = await build({
    ...COMMON,
    entryPoints: [entry],
    // The source map names the sources relative to dist, wherever both files are written.
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
