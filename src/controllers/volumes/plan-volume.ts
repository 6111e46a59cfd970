/**
 * Maps a pod's volume to its plugin and that plugin's plan, or to what the volume waits for. A claim leads to its
 * PersistentVolume.
 */
import type { PersistentVolume, Pod, Volume } from "../../api/gen/core-v1.ts";
import { claimNameOf, type KnownObject } from "../../domain/cluster-objects/references.ts";
import { fitsNode, type NodeNames } from "../../domain/node/node-selector.ts";
import { claimedVolume } from "../../domain/volumes/claims.ts";
import { kindOf } from "../../domain/volumes/layout.ts";
import { type PlanContext, refused, type VolumePlan, type VolumePlugin } from "./plugin.ts";

export type PlannedVolume =
  /** The API server has not reported yet what the claim is bound to. */
  | { readonly kind: "unknown" }
  /** The claim is known, but cannot be used yet. */
  | { readonly kind: "unprocessed"; readonly message: string }
  | {
      readonly kind: "planned";
      /** Undefined: no plugin serves the volume. */
      readonly plugin: VolumePlugin | undefined;
      /** The name on disk and in events: the PersistentVolume's name if there is one. */
      readonly name: string;
      readonly plan: VolumePlan;
    };

export interface VolumeContext extends PlanContext {
  readonly plugins: readonly VolumePlugin[];
  readonly object: (key: string) => KnownObject<unknown> | undefined;
  readonly node: NodeNames;
}

export function planVolume(pod: Pod, volume: Volume, context: VolumeContext): PlannedVolume {
  if (claimNameOf(pod.metadata?.name ?? "", volume) !== undefined) return planClaim(pod, volume, context);
  const plugin = kindOf(volume, context.plugins);
  const plan =
    plugin?.plan({ pod, volume, persistent: undefined, readOnly: false }, context) ??
    refused(`this node agent does not support the kind of volume ${volume.name} yet`);
  return { kind: "planned", plugin, name: volume.name, plan };
}

function planClaim(pod: Pod, volume: Volume, context: VolumeContext): PlannedVolume {
  const claimed = claimedVolume(pod, volume, "mount", context.object);
  if (claimed.kind === "unknown") return claimed;
  if (claimed.kind === "waits") return { kind: "unprocessed", message: claimed.message };
  const { volume: persistent, readOnly } = claimed;
  const name = persistent.metadata?.name ?? "";
  const plugin = persistentPluginOf(persistent, context.plugins);
  if (!fitsNode(persistent, context.node)) {
    const plan = refused("no matching NodeSelectorTerms", "MountVolume.NodeAffinity check failed");
    return { kind: "planned", plugin, name, plan };
  }
  const plan =
    plugin?.plan({ pod, volume, persistent, readOnly }, context) ??
    refused(`this node agent does not support the kind of PersistentVolume ${name} yet`);
  return { kind: "planned", plugin, name, plan };
}

const persistentPluginOf = ({ spec }: PersistentVolume, plugins: readonly VolumePlugin[]): VolumePlugin | undefined =>
  plugins.find(({ persistentSources }) => persistentSources.some((source) => spec?.[source] !== undefined));
