/** Which registries could not be reached at the last pull from them. */
import { PULL_RATE_EXCEEDED } from "./pull-messages.ts";

const UNREACHABLE =
  /^RegistryUnavailable|\bdial tcp\b|no such host|no route to host|network is unreachable|connection (?:refused|reset)|i\/o timeout|handshake timeout|deadline exceeded|awaiting headers|\bEOF\b|server misbehaving|\b50[234] (?:Bad Gateway|Service Unavailable|Gateway Time-?out)/i;

/** Whether a pull failed because the registry, or what is in front of it, did not answer. */
export const isUnreachable = (error: string): boolean => UNREACHABLE.test(error);

/**
 * The registries after a pull; the same set if nothing changed. `error`: undefined if the pull succeeded. A pull that
 * was not attempted changes nothing.
 */
export function afterPull(
  known: ReadonlySet<string>,
  registry: string,
  error: string | undefined,
): ReadonlySet<string> {
  if (error === PULL_RATE_EXCEEDED) return known;
  const unreachable = error !== undefined && isUnreachable(error);
  if (known.has(registry) === unreachable) return known;
  return new Set(unreachable ? [...known, registry] : [...known].filter((each) => each !== registry));
}
