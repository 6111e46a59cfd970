/** Who asks something of the node, as it is told to those who decide upon access. */
export interface Caller {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const ANONYMOUS: Caller = {
  name: "system:anonymous",
  uid: "",
  groups: ["system:unauthenticated"],
  extra: {},
};

const AUTHENTICATED = "system:authenticated";

export const authenticated = (caller: Caller): Caller =>
  caller.groups.includes(AUTHENTICATED) ? caller : { ...caller, groups: [...caller.groups, AUTHENTICATED] };
