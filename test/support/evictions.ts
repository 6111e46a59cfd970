/** What users see of an evicted pod, without the sizes that differ from run to run. */

/** Sizes in an eviction's message differ from run to run; the threshold does not. */
export const withoutSizes = (text: string): string =>
  text.replaceAll(/(?<what>available: |was using )\d+(?:Ki|Mi|Gi|k)?/g, "$<what>SIZE");
