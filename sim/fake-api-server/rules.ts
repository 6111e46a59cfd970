/** Validation and name generation that the API server applies to every object. */
import type { ObjectMeta } from "../../src/api/gen/meta-v1.ts";
import type { Random } from "../../src/ports/random.ts";
import type { Kind } from "./kinds.ts";
import { checkPod } from "./pods.ts";
import { invalid } from "./refusal.ts";
import type { Draft } from "./stored.ts";

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LETTERS = "bcdfghjklmnpqrstvwxz2456789";
const DATA_BYTES_MAX = 2 ** 20;

export function nameFor(metadata: ObjectMeta | undefined, random: Random): string {
  if (metadata?.name !== undefined && metadata.name !== "") return metadata.name;
  const letter = () => LETTERS.charAt(Math.floor(random.fraction() * LETTERS.length));
  return `${metadata?.generateName ?? ""}${Array.from({ length: 5 }, letter).join("")}`;
}

export function checkObject(kind: Kind, draft: Draft, name: string): void {
  const what = `${kind.resource.kind} ${JSON.stringify(name)}`;
  // A CertificateSigningRequest may have any name that fits into a path segment.
  const isFree = kind.key === "certificates.k8s.io/certificatesigningrequests";
  if (!(isFree ? /^[^/%]+$/ : SUBDOMAIN).test(name) || name.length > 253)
    throw invalid(
      what,
      `metadata.name: Invalid value: ${JSON.stringify(name)}: a lowercase RFC 1123 subdomain is needed`,
    );
  if (kind.key === "/pods") checkPod(draft);
  if (kind.key === "/configmaps" || kind.key === "/secrets") checkSize(what, draft);
}

function checkSize(what: string, { data, binaryData }: Draft): void {
  const lengths = [data, binaryData].flatMap((values) =>
    Object.values(values ?? {}).map((text) => String(text).length),
  );
  const bytes = lengths.reduce((sum, length) => sum + length, 0);
  if (bytes > DATA_BYTES_MAX) throw invalid(what, `data: Too long: may not be more than ${DATA_BYTES_MAX} bytes`);
}
