/** Names a kind of object on the API server, and carries its type. The shapes themselves are generated, in `gen/`. */
export interface Resource<T> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never set: it only ties `T` to the name. */
  readonly shape?: T;
}

/** What every object has that the machinery below needs. Generated kinds fit it. */
export interface ApiObject {
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    /** Opaque: compared for equality, never ordered. */
    readonly resourceVersion?: string;
  };
}
