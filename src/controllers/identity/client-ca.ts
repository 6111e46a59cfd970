/** Publishes the CA bundle that verifies client certificates, from a file that is read again when it changes. */
import type { LatestCell } from "../../concurrency/latest-cell.ts";
import { type WatchedFilesParts, watchFiles } from "./watched-files.ts";

export interface ClientCaParts extends WatchedFilesParts {
  readonly clientCa: LatestCell<string | undefined>;
  /** Why the bundle cannot verify clients; undefined if it can. */
  readonly bundleFault: (pem: string) => string | undefined;
}

export const runClientCa = (
  { path, reload }: { readonly path: string; readonly reload: boolean },
  parts: ClientCaParts,
  shutdown: AbortSignal,
): Promise<void> =>
  watchFiles<string>(
    {
      what: "the authorities of client certificates",
      paths: [path],
      reload,
      parse: ([pem = ""]) => pem,
      fault: parts.bundleFault,
      cell: parts.clientCa,
    },
    parts,
    shutdown,
  );
