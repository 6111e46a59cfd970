/** All volume plugins. */
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

/** Volumes with a PersistentVolume, whose own type determines whether it is supported. */
const CLAIMS = ["persistentVolumeClaim", "ephemeral"];

/** The volume fields that a pod may use on this node. */
export const volumeSources = (plugins: readonly VolumePlugin[]): ReadonlySet<string> =>
  new Set([...CLAIMS, ...plugins.flatMap(({ sources }) => sources)]);
