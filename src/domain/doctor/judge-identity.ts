/** Judges certificates, the clock that they are checked against, and how the API server responds to them. */
import type { ApiSeen, HostFacts, IdentitySeen, PairSeen } from "./facts.ts";
import { type FindingName, type Findings, finding, unseen } from "./finding.ts";

const DAY_MS = 86_400_000;
/** This program knows of no Kubernetes release from before this date, so an earlier clock is not set. */
const NOT_BEFORE_WALL_MS = Date.UTC(2025, 0, 1);
const SKEW_MS_MAX = 30_000;

type Chain = Extract<PairSeen, { kind: "there" }>;

export function* judgeIdentity({ identity, nowWallMs, node }: HostFacts): Findings {
  if (nowWallMs < NOT_BEFORE_WALL_MS) yield finding("clock-unset", `it is ${dayOf(nowWallMs)} by this host's clock`);
  if (!node.standalone) yield* judgeClient(identity, node.name, nowWallMs);
  const { serving, servingRotates, clientCa } = identity;
  if (serving.kind === "unseen") yield* unseen({ "the serving certificate": serving });
  if (serving.kind === "refused") yield finding("serving-certificate-refused", serving.why);
  if (serving.kind === "there") {
    if (!serving.keyFits)
      yield finding("serving-certificate-refused", `${serving.where}: the key is of another certificate`);
    yield* judgeTimes("serving", serving, { nowWallMs, rotates: servingRotates });
  }
  if (clientCa?.kind === "refused") yield finding("client-ca-refused", clientCa.why);
  if (clientCa?.kind !== "there") return;
  // An expired CA does no harm beside its successor.
  const over = clientCa.chain.findLast(({ notAfterWallMs }) => nowWallMs > notAfterWallMs);
  if (over !== undefined && clientCa.chain.every(({ notAfterWallMs }) => nowWallMs > notAfterWallMs))
    yield finding(
      "client-ca-expired",
      `${clientCa.where}: ${over.subject.commonName} ended on ${dayOf(over.notAfterWallMs)}`,
    );
}

function* judgeClient(
  { kubeconfigTrouble, bootstrapTrouble, rotates, client }: IdentitySeen,
  nodeName: string,
  nowWallMs: number,
): Findings {
  const over =
    client.kind === "there" ? client.chain.find(({ notAfterWallMs }) => nowWallMs > notAfterWallMs) : undefined;
  // As the agent does: a missing or expired certificate is requested again if there is a bootstrap kubeconfig.
  if (bootstrapTrouble !== undefined && (kubeconfigTrouble !== undefined || over !== undefined)) {
    const { why } = bootstrapTrouble;
    const cause = kubeconfigTrouble ?? "the client certificate has expired";
    if (why === undefined) return yield finding("bootstrap-needed", cause);
    if (kubeconfigTrouble !== undefined) return yield finding("bootstrap-kubeconfig-refused", `${cause}, and ${why}`);
    // kubeadm's drop-in always names a bootstrap kubeconfig, whose file is removed after the join. The cause is the
    // certificate.
    const ended = dayOf(over?.notAfterWallMs ?? nowWallMs);
    return yield finding("client-certificate-expired", `the client certificate ended on ${ended}, and ${why}`);
  }
  if (kubeconfigTrouble !== undefined) return yield finding("kubeconfig-refused", kubeconfigTrouble);
  if (client.kind === "refused") return yield finding("kubeconfig-refused", client.why);
  if (client.kind !== "there") return;
  if (!client.keyFits) yield finding("client-key-not-ours", `${client.where}: the key is of another certificate`);
  const user = client.chain[0]?.subject.commonName ?? "";
  if (user.startsWith("system:node:") && user !== `system:node:${nodeName}`)
    yield finding("node-name-not-ours", `the certificate is for ${user}, the node's name is ${nodeName}`);
  yield* judgeTimes("client", client, { nowWallMs, rotates });
}

/**
 * A certificate that is rotated is late once nine tenths of its lifetime have passed. Others are reported 30 days
 * before they expire, but not before the last fifth of their lifetime.
 */
function* judgeTimes(
  which: "client" | "serving",
  { where, chain }: Chain,
  { nowWallMs, rotates }: { readonly nowWallMs: number; readonly rotates: boolean },
): Findings {
  const name = (end: "expired" | "not-yet" | "soon"): FindingName => `${which}-certificate-${end}`;
  const over = chain.find(({ notAfterWallMs }) => nowWallMs > notAfterWallMs);
  if (over !== undefined) return yield finding(name("expired"), `${where} ended on ${dayOf(over.notAfterWallMs)}`);
  const early = chain.find(({ notBeforeWallMs }) => nowWallMs < notBeforeWallMs);
  if (early !== undefined)
    return yield finding(
      name("not-yet"),
      `${where} begins on ${dayOf(early.notBeforeWallMs)}, it is ${dayOf(nowWallMs)}`,
    );
  const [own] = chain;
  if (own === undefined) return;
  const { notBeforeWallMs, notAfterWallMs } = own;
  const tenthMs = (notAfterWallMs - notBeforeWallMs) / 10;
  const leftMs = notAfterWallMs - nowWallMs;
  if (leftMs < (rotates ? tenthMs : Math.min(30 * DAY_MS, 2 * tenthMs)))
    yield finding(name("soon"), `${where} ends on ${dayOf(notAfterWallMs)}, in ${spanOf(leftMs)}`);
}

export function* judgeApi(api: ApiSeen, nodeName: string): Findings {
  if (api.kind === "notAsked") return;
  if (api.kind === "silent") return yield finding("api-unreachable", `${api.url}: ${api.why}`);
  const { url, status, message, version, aheadMs, otherMachine } = api;
  if (status === 401) yield finding("api-unauthorized", `${url}: ${message}`);
  else if (status === 403) yield finding("api-forbidden", `${url}: ${message}`);
  // A node that is not registered yet is not a problem.
  else if (status !== 200 && status !== 404) yield finding("api-unreachable", `${url} answered ${status}: ${message}`);
  if (version !== undefined && (version.major !== 1 || version.minor < 36 || version.minor > 39))
    yield finding("api-version-skew", `${url} is Kubernetes ${version.major}.${version.minor}`);
  if (aheadMs !== undefined && Math.abs(aheadMs) > SKEW_MS_MAX)
    yield finding(
      "clock-skewed",
      `this host is ${spanOf(Math.abs(aheadMs))} ${aheadMs > 0 ? "behind" : "ahead of"} ${url}`,
    );
  if (otherMachine !== undefined)
    yield finding("node-name-taken", `the machine ${otherMachine} reports as ${nodeName}, and is alive`);
}

const dayOf = (wallMs: number) =>
  new Date(wallMs)
    .toISOString()
    .replace(/:\d\d\.\d+Z$/, "Z")
    .replace("T", " ");

function spanOf(ms: number): string {
  const units = [
    ["day", DAY_MS],
    ["hour", 3_600_000],
    ["minute", 60_000],
    ["second", 1_000],
  ] as const;
  const [unit, unitMs] = units.find(([, each]) => ms >= 2 * each) ?? (["second", 1_000] as const);
  return `${Math.floor(ms / unitMs)} ${unit}s`;
}
