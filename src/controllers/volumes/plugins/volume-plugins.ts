/** Every kind of volume that this agent serves. */
import type { VolumePlugin } from "../plugin.ts";
import { emptyDirPlugin } from "./empty-dir.ts";
import { hostPathPlugin } from "./host-path.ts";
import { imagePlugin } from "./image.ts";
import { localPlugin } from "./local.ts";
import { configMapPlugin, downwardApiPlugin, projectedPlugin, secretPlugin } from "./written-files.ts";

export const VOLUME_PLUGINS: readonly VolumePlugin[] = [
  configMapPlugin,
  secretPlugin,
  downwardApiPlugin,
  projectedPlugin,
  hostPathPlugin,
  imagePlugin,
  emptyDirPlugin,
  localPlugin,
];

/** Behind these stands a PersistentVolume, whose kind says whether it is served. */
const CLAIMS = ["persistentVolumeClaim", "ephemeral"];

/** The fields of a pod's volume that a pod may use on this node. */
export const volumeSources = (plugins: readonly VolumePlugin[]): ReadonlySet<string> =>
  new Set([...CLAIMS, ...plugins.flatMap(({ sources }) => sources)]);
