/** A rule for a configuration with all defaults: returns its errors in the Go kubelet's wording. */
import { formatGoDuration } from "../../base/duration.ts";
import type { FeatureGates } from "./feature-gates.ts";
import { type Configuration, type FieldPath, fieldOf } from "./fields.ts";

export interface Checked {
  readonly config: Configuration;
  readonly gates: FeatureGates;
  readonly cgroupVersion: 1 | 2;
}

export type Rule = (checked: Checked) => readonly string[];

export const invalid = (text: string): string => `invalid configuration: ${text}`;

/** "maxPods (--max-pods)", or the path alone if the field has no flag. */
export function named(path: FieldPath): string {
  const { flag } = fieldOf(path);
  return flag === undefined ? path : `${path} (--${flag})`;
}

/** Returns the text if the condition holds. */
export const when = (condition: boolean, text: string): readonly string[] => (condition ? [invalid(text)] : []);

type NumberPath = {
  [P in FieldPath]: Configuration[P] extends number | bigint ? P : never;
}[FieldPath];

export const notNegative =
  (path: NumberPath): Rule =>
  ({ config }) =>
    when(config[path] < 0, `${named(path)} ${config[path]} must not be a negative number`);

export const between =
  (path: NumberPath, min: number, max: number): Rule =>
  ({ config }) =>
    when(
      config[path] < min || config[path] > max,
      `${named(path)} ${config[path]} must be between ${min} and ${max}, inclusive`,
    );

/** A port, or zero for none if `orNone` is set; the range in the message is upstream's. */
export const port =
  (path: NumberPath, options: { readonly orNone: boolean; readonly said: string }): Rule =>
  ({ config }) => {
    const value = config[path];
    const fits = value >= 1 && value <= 65535;
    return when(
      !fits && !(options.orNone && value === 0),
      `${named(path)} ${value} must be between ${options.said} and 65535, inclusive`,
    );
  };

export const spell = (durationNs: bigint): string => formatGoDuration(durationNs);

/** Some upstream messages print the struct around the duration. */
export const spellStruct = (durationNs: bigint): string => `{${formatGoDuration(durationNs)}}`;
