/** Names a kind of API object and carries its type. The types themselves are generated, in `gen/`. */
export interface Resource<T> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never set: ties `T` to the name. */
  readonly shape?: T;
}

/** The fields that clients and informers need of every object. Generated kinds satisfy it. */
export interface ApiObject {
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    /** Opaque: compared for equality, never ordered. */
    readonly resourceVersion?: string;
  };
}
