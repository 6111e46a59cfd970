/** The FNV-1a hash in the two widths that Kubernetes uses for names. */
const OFFSET_32 = 0x811c9dc5;
const PRIME_32 = 0x01000193;
const OFFSET_128 = 0x6c62272e07bb014262b821756295c58dn;
const PRIME_128 = 0x0000000001000000000000000000013bn;

export function fnv1a32(bytes: Uint8Array): number {
  let hash = OFFSET_32;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, PRIME_32);
  return hash >>> 0;
}

export function fnv1a128(bytes: Uint8Array): bigint {
  let hash = OFFSET_128;
  for (const byte of bytes) hash = BigInt.asUintN(128, (hash ^ BigInt(byte)) * PRIME_128);
  return hash;
}
