/** The client of a request to the node, as the authorizer gets it. */
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
