/** Makes the one file that is shipped: every source and package in one ES module, the same bytes for the same tree. */
import { build } from "esbuild";
import { repositoryRoot } from "../repository.ts";

/** grpc-js is CommonJS and calls `require`, which an ES module does not have. */
const BANNER = `#!/usr/bin/env node
import { createRequire as bundleCreateRequire } from "node:module";
const require = bundleCreateRequire(import.meta.url);`;

export async function buildBundle(outfile: string, entry = "src/app/main.ts"): Promise<void> {
  await build({
    absWorkingDir: repositoryRoot,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    banner: { js: BANNER },
    sourcemap: "external",
    legalComments: "inline",
    charset: "utf8",
    logLevel: "warning",
  });
}
