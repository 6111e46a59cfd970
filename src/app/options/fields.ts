/**
 * Every field of KubeletConfiguration v1beta1, by its path: type, default, flag, and support. Decoding, defaults,
 * flags, warnings, `config check` and docs/configuration.md all use this table.
 */
import type { Field } from "./field.ts";
import { nodeFields } from "./fields-node.ts";
import { resourceFields } from "./fields-resources.ts";
import { serverFields } from "./fields-server.ts";
import { workloadFields } from "./fields-workload.ts";
import type { ValueOf } from "./value-types.ts";

const FIELDS = { ...nodeFields, ...serverFields, ...resourceFields, ...workloadFields } as const;

type Fields = typeof FIELDS;
export type FieldPath = keyof Fields;

/** Fields as written: any subset of them. */
export type WrittenConfiguration = { readonly [P in FieldPath]?: ValueOf[Fields[P]["type"]] };

/** Fields with defaults applied: a field that has a default always has a value. */
export type Configuration = {
  readonly [P in FieldPath]:
    | ValueOf[Fields[P]["type"]]
    | (Fields[P]["initial"] extends undefined ? undefined : never)
    | (P extends GateDependent ? undefined : never);
};

/** Fields whose defaults exist only while a feature gate is on. */
type GateDependent = "crashLoopBackOff.maxContainerRestartPeriod" | "imagePullCredentialsVerificationPolicy";

export const FIELD_PATHS = Object.keys(FIELDS).toSorted() as readonly FieldPath[];

export const fieldOf = (path: FieldPath): Field => FIELDS[path];
