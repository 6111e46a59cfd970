/**
 * User and group IDs of pods with a user namespace. Each such pod has its own range of the node's IDs. All ranges have
 * the same length, and a pod's ID 0 is the first ID of its range. The range is stored on disk for the next kubelet
 * process.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { RuntimeStatus } from "../runtime/runtime-info.ts";
import type { NamespaceOptions } from "../runtime/security.ts";

export type UserNamespace = NonNullable<NamespaceOptions["user"]>;

/** The shortest range; a longer range is a multiple of it. */
export const IDS_UNIT = 65_536;

/** The IDs from which `count` ranges of `length` IDs are allocated. */
export interface IdSpace {
  readonly first: number;
  readonly count: number;
  readonly length: number;
}

/** The IDs that the operator assigns to pods; undefined: all but the first range, which is the node's own. */
export type GivenIds = { readonly first: number; readonly length: number } | undefined;

export type IdSpaceAnswer =
  | ({ readonly kind: "space" } & IdSpace)
  /** Upstream's message, with which startup fails. */
  | { readonly kind: "unusable"; readonly message: string };

const ALL_IDS = 2 ** 32;

export function idSpace(given: GivenIds, idsPerPod: number, podsMax: number): IdSpaceAnswer {
  const { first, length } = given ?? { first: idsPerPod, length: ALL_IDS - idsPerPod };
  const unusable = (message: string): IdSpaceAnswer => ({ kind: "unusable", message });
  if (first % idsPerPod !== 0) return unusable(`kubelet user assigned ID ${first} is not a multiple of ${idsPerPod}`);
  if (first < idsPerPod) return unusable(`kubelet user assigned ID ${first} must be greater or equal to ${idsPerPod}`);
  if (length % idsPerPod !== 0) {
    return unusable(`kubelet user assigned IDs length ${length} is not a multiple of ${idsPerPod}`);
  }
  const count = length / idsPerPod;
  if (count < podsMax) return unusable(`kubelet user assigned IDs are not enough to support ${podsMax} pods`);
  return { kind: "space", first, count, length: idsPerPod };
}

/** Returns the first free range; undefined: no range is free. */
export function freeRange({ first, count, length }: IdSpace, taken: ReadonlySet<number>): number | undefined {
  for (let index = 0; index < count; index += 1) {
    const candidate = first + index * length;
    if (!taken.has(candidate)) return candidate;
  }
  return undefined;
}

export const asksForUsers = ({ spec }: Pod): boolean => spec?.hostUsers === false;

/** The node's own user namespace. */
export const NODE_USERS: UserNamespace = { mode: "node", uids: [], gids: [] };

export function ownUsers(firstId: number, length: number): UserNamespace {
  const mapping = [{ hostId: firstId, containerId: 0, length }];
  return { mode: "pod", uids: mapping, gids: mapping };
}

/** Returns upstream's error if the handler does not support user namespaces; undefined: it does. */
export function whyNoUsers({ handlers }: Pick<RuntimeStatus, "handlers">, handler: string): string | undefined {
  const found = handlers.find(({ name }) => name === handler);
  if (found?.userNamespaces === true) return undefined;
  const who = handler === "" ? "runtime" : `RuntimeClass handler "${handler}"`;
  const unknown = found === undefined && handlers.length > 0 ? `: the handler "${handler}" is not known` : "";
  return `can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces${unknown}`;
}

/** The content of the mappings file in the pod's directory. */
export const mappingsText = ({ uids, gids }: UserNamespace): string =>
  JSON.stringify({ uidMappings: uids, gidMappings: gids });

export type KnownRange =
  | { readonly kind: "range"; readonly firstId: number }
  | { readonly kind: "invalid"; readonly message: string };

/** Parses what a previous kubelet process wrote. It must be exactly one range of this ID space, at a valid offset. */
export function parseMappings(text: string, { first, count, length }: IdSpace): KnownRange {
  const invalid = (message: string): KnownRange => ({ kind: "invalid", message });
  const configuration = (why: string) => invalid(`invalid user namespace configuration: ${why}`);
  const parsed = parse(text);
  if (parsed === undefined) return invalid("invalid user namespace mappings file");
  const { uidMappings, gidMappings } = parsed;
  const [uids, gids] = [uidMappings?.[0], gidMappings?.[0]];
  if (uidMappings?.length !== 1 || uids === undefined) return configuration("no more than one mapping allowed.");
  if (gidMappings?.length !== 1 || gids === undefined || !sameMapping(uids, gids)) {
    return configuration("GID and UID mappings should be identical.");
  }
  if (uids.containerId !== 0) return configuration("UID 0 must be mapped");
  if (uids.length !== length) return invalid(`wrong user namespace length ${uids.length}`);
  const { hostId } = uids;
  if (hostId % length !== 0) return invalid(`wrong user namespace offset specified ${hostId}`);
  if (hostId < first || hostId >= first + count * length) return invalid(`id ${hostId} is out of range`);
  return { kind: "range", firstId: hostId };
}

interface Mapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

const sameMapping = (a: Mapping, b: Mapping): boolean =>
  a.hostId === b.hostId && a.containerId === b.containerId && a.length === b.length;

function parse(
  text: string,
): { readonly uidMappings?: readonly Mapping[]; readonly gidMappings?: readonly Mapping[] } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined; // Not JSON: the caller reports the file as invalid.
  }
}
