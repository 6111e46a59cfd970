import type { ApiObject } from "../../ports/api-server.ts";

/** Without the record of who wrote which field: often larger than the rest, and of no use to a node. */
export function lean<T extends ApiObject>(object: T): T {
  const { metadata } = object;
  if (metadata === undefined || !("managedFields" in metadata)) return object;
  const { managedFields: _, ...kept } = metadata;
  return { ...object, metadata: kept };
}
