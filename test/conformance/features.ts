/**
 * The features that pods of upstream's tests request and that are not built yet: the feature of each rejected field,
 * and the rows of the compatibility ledger that build it. The list shrinks with the table of
 * src/domain/admission/unsupported-fields.ts.
 */

interface Feature {
  readonly name: string;
  /** Matches the field's path without indices. */
  readonly fields: RegExp;
  readonly rows: string;
}

const features: readonly Feature[] = [
  { name: "resource claims", fields: /^spec\.resourceClaims|\.resources\.claims$/, rows: "16.6 to 16.10" },
  { name: "raw block volumes", fields: /\.volumeDevices$/, rows: "13.24" },
  { name: "CSI volumes", fields: /^spec\.volumes\.csi$/, rows: "13.20 to 13.23" },
  { name: "other projected sources", fields: /^spec\.volumes\.projected\./, rows: "13.12" },
  { name: "other volumes", fields: /^spec\.volumes\./, rows: "13.16 to 13.19" },
];

/**
 * The feature of a field's path as the agent names it when it rejects a pod; the path itself if no feature is known.
 */
export function featureOf(field: string): string {
  const path = field.replaceAll(/\[\d+\]/g, "");
  return features.find(({ fields }) => fields.test(path))?.name ?? path;
}

/** The ledger's rows that build the feature; undefined if it is none of these. */
export const rowsOf = (feature: string): string | undefined => features.find(({ name }) => name === feature)?.rows;

/** Whether the feature is not built yet. */
export const isNotBuilt = (feature: string): boolean => features.some(({ name }) => name === feature);
