/** Images as the runtime reports them. */
export interface ImageSpec {
  /** The image name or ID sent to the runtime. */
  readonly image: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The name in the pod's spec, if `image` differs from it. */
  readonly userSpecifiedImage?: string;
  readonly runtimeHandler?: string;
  readonly imageRef?: string;
}

export interface Image {
  readonly id: string;
  readonly tags: readonly string[];
  readonly digests: readonly string[];
  readonly sizeBytes: bigint;
  /** The image's user: an ID, a name, or neither. */
  readonly uid?: bigint;
  readonly username?: string;
  /** Never garbage-collected. */
  readonly pinned: boolean;
  readonly spec?: ImageSpec;
}

/** Every field may be a secret: never print it. */
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
