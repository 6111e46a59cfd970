/** The node's own resolver file: what pods get of it, and whether it fits them. */
import { errorText } from "../../base/error-text.ts";
import { parseResolverFile } from "../../domain/pod/resolver-file.ts";
import { type ResolverConfig, resolverFileTrouble } from "../../domain/pod/resolver-limits.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import { readLinked } from "./read-linked.ts";

const BYTES_MAX = 10 * 1024 * 1024;

/** Undefined for no path: pods get nothing of the node's. */
export async function readHostResolver(path: string, files: HostFiles): Promise<ResolverConfig | undefined> {
  if (path === "") return undefined;
  const parsed = await readParsed(path, files);
  if (parsed.kind === "parsed") return parsed.config;
  throw new Error(`Encountered error while parsing resolv conf file. Error: ${parsed.message}`);
}

/** Once, when the agent starts: too much in it costs every pod something. */
export async function checkResolverFile(
  {
    path,
    clusterDomain,
    nodeName,
  }: { readonly path: string; readonly clusterDomain: string; readonly nodeName: string },
  { files, events }: { readonly files: HostFiles; readonly events: EventSink },
): Promise<void> {
  if (path === "") return;
  const tell = (message: string) => {
    const subject = { kind: "Node", name: nodeName, namespace: "", uid: "" } as const;
    events.emit(subject, "Warning", "CheckLimitsForResolvConf", message);
  };
  try {
    const parsed = await readParsed(path, files);
    const trouble = parsed.kind === "parsed" ? resolverFileTrouble(path, parsed.config, clusterDomain) : parsed.message;
    if (trouble !== undefined) tell(trouble);
  } catch (error) {
    tell(errorText(error));
  }
}

const readParsed = async (path: string, files: HostFiles) =>
  parseResolverFile(new TextDecoder().decode(await readLinked(files, path, BYTES_MAX)));
