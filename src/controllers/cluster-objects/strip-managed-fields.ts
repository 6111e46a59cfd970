import type { ApiObject } from "../../ports/api-server.ts";

/** Removes `managedFields`: they are often larger than the rest of the object, and a node does not use them. */
export function stripManagedFields<T extends ApiObject>(object: T): T {
  const { metadata } = object;
  if (metadata === undefined || !("managedFields" in metadata)) return object;
  const { managedFields: _, ...kept } = metadata;
  return { ...object, metadata: kept };
}
