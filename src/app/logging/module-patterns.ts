/** `--vmodule=status=4,pod-*=6`: a verbosity of its own for the modules that a pattern names. The first that fits counts. */
import type { ModuleVerbosity } from "../options/value-types.ts";

export function verbosityFor(
  module: string,
  { verbosity, modules }: { readonly verbosity: number; readonly modules: readonly ModuleVerbosity[] },
): number {
  return modules.find(({ filePattern }) => matches(module, filePattern))?.verbosity ?? verbosity;
}

/** `*` and `?` stand for any characters but a slash. */
function matches(module: string, pattern: string): boolean {
  const escaped = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll(/\*+/g, "[^/]*")
    .replaceAll("?", "[^/]");
  return new RegExp(`^${escaped}$`).test(module);
}
