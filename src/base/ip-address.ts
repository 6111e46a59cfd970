/** Parses IP addresses into the canonical form (RFC 5952) that the API server and Go write. */
export interface IpAddress {
  readonly family: "IPv4" | "IPv6";
  /** Canonical: equal texts mean equal addresses. */
  readonly text: string;
  /** 4 numbers of 8 bits or 8 numbers of 16 bits. */
  readonly groups: readonly number[];
}

/** Undefined if `text` is not an IP address. An IPv4-mapped IPv6 address becomes the IPv4 address. */
export function parseIp(text: string): IpAddress | undefined {
  if (!text.includes(":")) {
    const groups = ipv4Groups(text);
    return groups === undefined ? undefined : { family: "IPv4", text: groups.join("."), groups };
  }
  const groups = ipv6Groups(text);
  if (groups === undefined) return undefined;
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6);
    return parseIp([high >> 8, high & 255, low >> 8, low & 255].join("."));
  }
  return { family: "IPv6", text: ipv6Text(groups), groups };
}

function ipv4Groups(text: string): readonly number[] | undefined {
  const parts = text.split(".");
  // "010" is rejected: some parsers read it as ten, others as eight.
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) return;
  return parts.map(Number);
}

function ipv6Groups(text: string): readonly number[] | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const sides = halves.map((half) => (half === "" ? [] : half.split(":").flatMap(ipv6Part)));
  if (sides.flat().some((group) => Number.isNaN(group))) return undefined;
  const [head = [], tail = []] = sides;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  return [...head, ...Array.from({ length: halves.length === 1 ? 0 : missing }, () => 0), ...tail];
}

function ipv6Part(part: string, index: number, parts: readonly string[]): readonly number[] {
  if (/^[0-9a-f]{1,4}$/i.test(part)) return [Number.parseInt(part, 16)];
  const [a, b, c, d] = index === parts.length - 1 ? (ipv4Groups(part) ?? []) : [];
  if (a === undefined || b === undefined || c === undefined || d === undefined) return [Number.NaN];
  return [a * 256 + b, c * 256 + d];
}

function ipv6Text(groups: readonly number[]): string {
  const [from, length] = longestZeros(groups);
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(":");
  if (length < 2) return hex(groups);
  return `${hex(groups.slice(0, from))}::${hex(groups.slice(from + length))}`;
}

function longestZeros(groups: readonly number[]): readonly [from: number, length: number] {
  let best: readonly [number, number] = [0, 0];
  for (let from = 0; from < groups.length; from += 1) {
    let length = 0;
    while (groups[from + length] === 0) length += 1;
    if (length > best[1]) best = [from, length];
    from += length;
  }
  return best;
}

export type AddressScope = "unspecified" | "loopback" | "multicast" | "linkLocal" | "other";

export function scopeOf({ family, groups }: IpAddress): AddressScope {
  const [first = 0, second = 0] = groups;
  if (groups.every((group) => group === 0)) return "unspecified";
  if (family === "IPv4") {
    if (first === 127) return "loopback";
    if (first >= 224 && first < 240) return "multicast";
    return first === 169 && second === 254 ? "linkLocal" : "other";
  }
  if (groups.slice(0, 7).every((group) => group === 0) && groups[7] === 1) return "loopback";
  if (first >> 8 === 0xff) return "multicast";
  return (first & 0xffc0) === 0xfe80 ? "linkLocal" : "other";
}
