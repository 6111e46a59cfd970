/** Images as the runtime knows them. */
export interface ImageSpec {
  /** The name or id the runtime is asked for. */
  readonly image: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The name in the pod's spec, when `image` is something else by now. */
  readonly userSpecifiedImage?: string;
  readonly runtimeHandler?: string;
  readonly imageRef?: string;
}

export interface Image {
  readonly id: string;
  readonly tags: readonly string[];
  readonly digests: readonly string[];
  readonly sizeBytes: bigint;
  /** The image's user: an id, a name, or neither. */
  readonly uid?: bigint;
  readonly username?: string;
  /** Never garbage-collected. */
  readonly pinned: boolean;
  readonly spec?: ImageSpec;
}

/** Every field may be a secret: never printed. */
export interface RegistryCredentials {
  readonly username?: string;
  readonly password?: string;
  readonly auth?: string;
  readonly serverAddress?: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
}

export interface FilesystemUsage {
  readonly wallNs: bigint;
  readonly mountpoint: string;
  readonly usedBytes?: bigint;
  readonly inodesUsed?: bigint;
}
