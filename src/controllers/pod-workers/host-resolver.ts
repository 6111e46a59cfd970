/** Reads the node's resolv.conf for pods and checks it against the limits. */

import { errorText } from "../../base/error-text.ts";
import { parseResolverFile } from "../../domain/container-config/resolver-file.ts";
import { type ResolverConfig, resolverFileTrouble } from "../../domain/container-config/resolver-limits.ts";
import { nodeSubject } from "../../domain/events/recorded-event.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import { readLinked } from "../../ports/follow-links.ts";
import { type HostFiles, isMissing } from "../../ports/host-files.ts";
import { RESOLVER_FILE_BYTES_MAX } from "../limits.ts";

/** Undefined for an empty path: pods get nothing from the node. */
export async function readHostResolver(path: string, files: HostFiles): Promise<ResolverConfig | undefined> {
  if (path === "") return undefined;
  const parsed = await readParsed(path, files);
  if (parsed.kind === "parsed") return parsed.config;
  throw new Error(`Encountered error while parsing resolv conf file. Error: ${parsed.message}`);
}

/** Runs once at startup: excess entries affect every pod. */
export async function checkResolverFile(
  {
    path,
    clusterDomain,
    nodeName,
  }: { readonly path: string; readonly clusterDomain: string; readonly nodeName: string },
  { files, events }: { readonly files: HostFiles; readonly events: EventSink },
): Promise<void> {
  if (path === "") return;
  const emit = (message: string) => events.emit(nodeSubject(nodeName), "Warning", "CheckLimitsForResolvConf", message);
  try {
    const parsed = await readParsed(path, files);
    const trouble = parsed.kind === "parsed" ? resolverFileTrouble(path, parsed.config, clusterDomain) : parsed.message;
    if (trouble !== undefined) emit(trouble);
  } catch (error) {
    emit(errorText(error));
  }
}

async function readParsed(path: string, files: HostFiles) {
  try {
    return parseResolverFile(new TextDecoder().decode(await readLinked(files, path, RESOLVER_FILE_BYTES_MAX)));
  } catch (error) {
    throw isMissing(error) ? new Error(`open ${path}: no such file or directory`, { cause: error }) : error;
  }
}
