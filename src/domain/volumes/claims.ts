/**
 * Resolves a claim to the volume that it is bound to, as far as the API server lets a node see it. Errors have
 * upstream's wording.
 */
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from "../../api/gen/core-v1.ts";
import { claimNameOf, type KnownObject, objectKey } from "../cluster-objects/references.ts";

export type ClaimedVolume =
  | { readonly kind: "bound"; readonly volume: PersistentVolume; readonly readOnly: boolean }
  /** The API server has not responded yet. */
  | { readonly kind: "unknown" }
  /** Not ready yet; `message` is for a user who waits too long. */
  | { readonly kind: "waits"; readonly message: string };

const PROTECTION = "kubernetes.io/pvc-protection";

export function claimedVolume(
  pod: Pod,
  volume: Volume,
  uses: "mount" | "device",
  object: (key: string) => KnownObject<unknown> | undefined,
): ClaimedVolume {
  const namespace = pod.metadata?.namespace ?? "";
  const name = claimNameOf(pod.metadata?.name ?? "", volume) ?? "";
  const trouble = (cause: string): ClaimedVolume => ({
    kind: "waits",
    message: `error processing PVC ${namespace}/${name}: ${cause}`,
  });
  const claim = present(object(objectKey("PersistentVolumeClaim", namespace, name))) as
    | PersistentVolumeClaim
    | string
    | undefined;
  if (claim === undefined) return { kind: "unknown" };
  if (typeof claim === "string")
    return trouble(`failed to fetch PVC from API server: ${claim || notFound("persistentvolumeclaims", name)}`);
  const flaw = flawOfClaim(claim);
  if (flaw !== undefined) return trouble(flaw);
  if (volume.ephemeral !== undefined && !isOwnedBy(claim, pod)) {
    const message = `PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata?.name} (pod is not owner)`;
    return { kind: "waits", message };
  }
  const bound = claim.spec?.volumeName ?? "";
  const found = present(object(objectKey("PersistentVolume", "", bound))) as PersistentVolume | string | undefined;
  if (found === undefined) return { kind: "unknown" };
  if (typeof found === "string")
    return trouble(`failed to fetch PV ${bound} from API server: ${found || notFound("persistentvolumes", bound)}`);
  const mismatch = mismatchOf(found, claim);
  if (mismatch !== undefined) return trouble(mismatch);
  const mode = found.spec?.volumeMode ?? "Filesystem";
  if (mode !== (uses === "mount" ? "Filesystem" : "Block")) {
    const place = uses === "mount" ? "volumeMounts" : "volumeDevices";
    return { kind: "waits", message: `volume ${volume.name} has volumeMode ${mode}, but is specified in ${place}` };
  }
  return { kind: "bound", volume: found, readOnly: volume.persistentVolumeClaim?.readOnly ?? false };
}

/**
 * The object, or the reason why it is unavailable; an empty text: it does not exist. Undefined: not requested yet, or
 * no response yet.
 */
function present(known: KnownObject<unknown> | undefined): unknown {
  if (known?.kind === "present") return known.object;
  return known?.kind === "missing" ? "" : known?.trouble;
}

const notFound = (plural: string, name: string) => `${plural} "${name}" not found`;

function flawOfClaim({ metadata, spec, status }: PersistentVolumeClaim): string | undefined {
  if (metadata?.deletionTimestamp !== undefined && !(metadata.finalizers ?? []).includes(PROTECTION))
    return "PVC is being deleted";
  if (status?.phase !== "Bound") return "PVC is not bound";
  return (spec?.volumeName ?? "") === "" ? "PVC has empty pvc.Spec.VolumeName" : undefined;
}

function mismatchOf({ metadata, spec }: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (spec?.claimRef === undefined)
    return `found PV object ${metadata?.name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`;
  if (spec.claimRef.uid === claim.metadata?.uid) return undefined;
  return `found PV object ${metadata?.name} but its pv.Spec.ClaimRef.UID ${spec.claimRef.uid} does not point to claim.UID ${claim.metadata?.uid}`;
}

const isOwnedBy = ({ metadata }: PersistentVolumeClaim, pod: Pod): boolean =>
  (metadata?.ownerReferences ?? []).some(({ controller, uid }) => controller === true && uid === pod.metadata?.uid);

/** Undefined until the claim is bound. From then on, the fields that a node needs no longer change. */
export function boundVolumeName({ spec, status }: PersistentVolumeClaim): string | undefined {
  const name = spec?.volumeName ?? "";
  return status?.phase === "Bound" && name !== "" ? name : undefined;
}

/**
 * Whether the volume names its claim. It is written before the claim, but may be read from an API server that lags
 * behind.
 */
export const isClaimed = ({ spec }: PersistentVolume): boolean => (spec?.claimRef?.uid ?? "") !== "";
