/** `--vmodule=status=4,pod-*=6`: sets the verbosity of the modules that a pattern matches. The first match wins. */
import type { ModuleVerbosity } from "../options/value-types.ts";

export function verbosityFor(
  module: string,
  { verbosity, modules }: { readonly verbosity: number; readonly modules: readonly ModuleVerbosity[] },
): number {
  return modules.find(({ filePattern }) => matches(module, filePattern))?.verbosity ?? verbosity;
}

/** `*` matches any characters except a slash; `?` matches one of them. */
function matches(module: string, pattern: string): boolean {
  const escaped = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll(/\*+/g, "[^/]*")
    .replaceAll("?", "[^/]");
  return new RegExp(`^${escaped}$`).test(module);
}
