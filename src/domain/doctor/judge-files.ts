/** Judges disks, the resolver file, and programs. */
import { parseIp, scopeOf } from "../../base/ip-address.ts";
import type { DiskSeen, Least, ProgramsSeen, ResolverSeen } from "./facts.ts";
import { type Findings, finding, seenOf, unseen } from "./finding.ts";

/** Below this, not even a record of the journal can be written. */
const BYTES_MIN = 1n << 20n;

export function* judgeDisk({ use, path, room, writeTrouble, bytesMin, inodesMin }: DiskSeen): Findings {
  yield* unseen({ [`the disk of ${path}`]: room, ...(writeTrouble === undefined ? {} : { [path]: writeTrouble }) });
  const trouble = writeTrouble === undefined ? undefined : seenOf(writeTrouble);
  if (trouble !== undefined) yield finding("folder-unwritable", `${path}: ${trouble}`);
  const seen = seenOf(room);
  if (seen === undefined) return;
  const { availableBytes, capacityBytes, inodes, inodesFree } = seen;
  const reported = `the disk of ${path} (${use}) has ${mebibytes(availableBytes)} of ${mebibytes(capacityBytes)} left`;
  if (availableBytes < BYTES_MIN) yield finding("disk-full", reported);
  else if (availableBytes < leastOf(bytesMin, capacityBytes))
    yield finding("disk-pressure", `${reported}, less than ${mebibytes(leastOf(bytesMin, capacityBytes))}`);
  // Some file systems create inodes on demand and report none.
  if (inodes === 0n) return;
  const files = `the disk of ${path} (${use}) has ${inodesFree} of ${inodes} inodes left`;
  if (inodesFree === 0n) yield finding("inodes-gone", files);
  else if (inodesFree < leastOf(inodesMin, inodes))
    yield finding("inodes-pressure", `${files}, less than ${leastOf(inodesMin, inodes)}`);
}

function leastOf(least: Least | undefined, all: bigint): bigint {
  if (least === undefined) return 0n;
  return least.kind === "amount" ? least.amount : BigInt(Math.floor(Number(all) * least.share));
}

const mebibytes = (bytes: bigint) => `${bytes >> 20n} MiB`;

const SERVERS_MAX = 3;
const DOMAINS_MAX = 32;

export function* judgeResolver({ path, text }: ResolverSeen): Findings {
  if (path === "") return;
  if (text.kind === "refused") return yield finding("resolv-conf-refused", `${path}: ${text.why}`);
  const lines = text.text.split("\n").map((line) => line.trim().split(/\s+/));
  const servers = lines.flatMap(([key, server]) => (key === "nameserver" && server !== undefined ? [server] : []));
  const domains = lines.findLast(([key]) => key === "search")?.slice(1) ?? [];
  if (servers.length === 0) yield finding("resolv-conf-empty", `${path} has no nameserver`);
  const own = servers.find((server) => {
    const address = parseIp(server);
    return address !== undefined && scopeOf(address) === "loopback";
  });
  if (own !== undefined) yield finding("resolv-conf-loop", `${path} names ${own}`);
  if (servers.length > SERVERS_MAX || domains.length > DOMAINS_MAX)
    yield finding("resolv-conf-long", `${path} names ${servers.length} servers and ${domains.length} search domains`);
}

export function* judgePrograms({ wantsIptables, found }: ProgramsSeen): Findings {
  yield* unseen({ programs: found });
  for (const [name, isThere] of Object.entries(seenOf(found) ?? {})) {
    if (isThere) continue;
    if (name !== "iptables") yield finding("program-missing", `there is no ${name} on the PATH`);
    else if (wantsIptables) yield finding("iptables-missing", "there is no iptables on the PATH");
  }
}
