/**
 * Inspects the node's client credentials, its serving certificate, and how the API server responds to the credentials.
 */
import type { Node } from "../../api/gen/core-v1.ts";
import { bytesEqual } from "../../base/bytes.ts";
import { errorText } from "../../base/error-text.ts";
import type { ApiSeen, IdentitySeen, PairSeen } from "../../domain/doctor/facts.ts";
import type { PairPaths } from "../../domain/identity/certificate-pair.ts";
import { keyPemOf } from "../../domain/identity/pem.ts";
import { certificateFacts } from "../../domain/identity/x509-read.ts";
import type { Connection } from "../../wire/kube-api/connection.ts";
import type { PlainAnswer } from "../../wire/kube-api/one-shot-request.ts";
import { type Kubeconfig, openKubeconfig } from "../options/kubeconfig.ts";
import { inTime, probe, type Round } from "./probe-host.ts";

export interface IdentityRound {
  readonly identity: IdentitySeen;
  /** The connection and path of the request to the API server. Undefined: no request is sent. */
  readonly question: { readonly connection: Connection; readonly path: string } | undefined;
}

export async function gatherIdentity(round: Round): Promise<IdentityRound> {
  const { options, ports } = round;
  const { bootstrapKubeconfigPath, rotates, serving } = options.identity;
  const own = options.api.kind === "cluster" ? await opened(round, options.api.kubeconfigPath) : undefined;
  const bootstrap = bootstrapKubeconfigPath === "" ? undefined : await opened(round, bootstrapKubeconfigPath);
  const client = own?.kubeconfig === undefined ? ABSENT : clientPair(round, own.kubeconfig, own.path);
  const clientCa = options.server.clientCa;
  const nowWallMs = ports.clock.wallMs();
  const hasExpired = client.kind === "there" && client.chain.some(({ notAfterWallMs }) => nowWallMs > notAfterWallMs);
  return {
    identity: {
      kubeconfigTrouble: own?.trouble,
      bootstrapTrouble: bootstrap === undefined ? undefined : { why: bootstrap.trouble },
      rotates,
      client,
      serving: await servingPair(round),
      servingRotates: serving.kind === "cluster",
      clientCa: clientCa === undefined ? undefined : await authorities(round, clientCa.path),
    },
    question: questionOf(
      options.node.name,
      // A key that does not match its certificate prevents any connection, which is not the server's fault.
      client.kind === "absent" || (client.kind === "there" && client.keyFits) ? own?.kubeconfig : undefined,
      hasExpired ? bootstrap?.kubeconfig : undefined,
      bootstrap,
    ),
  };
}

const ABSENT: PairSeen = { kind: "absent" };

interface Opened {
  readonly path: string;
  readonly kubeconfig: Kubeconfig | undefined;
  readonly trouble: string | undefined;
}

async function opened(round: Round, path: string): Promise<Opened> {
  try {
    // openKubeconfig reads synchronously and blocks everything else, so first check that the disk responds.
    await inTime(round, () => round.ports.inspector.nearest(path));
    return { path, kubeconfig: openKubeconfig(path), trouble: undefined };
  } catch (error) {
    return { path, kubeconfig: undefined, trouble: errorText(error) };
  }
}

/** Bootstrap credentials permit only certificate requests. All that can be checked is whether the server knows them. */
function questionOf(
  nodeName: string,
  own: Kubeconfig | undefined,
  instead: Kubeconfig | undefined,
  bootstrap: Opened | undefined,
): IdentityRound["question"] {
  if (own !== undefined && instead === undefined)
    return { connection: own.connection, path: `/api/v1/nodes/${encodeURIComponent(nodeName)}` };
  const used = instead ?? bootstrap?.kubeconfig;
  return used === undefined ? undefined : { connection: used.connection, path: "/version" };
}

function clientPair(round: Round, { connection, certificateFiles }: Kubeconfig, path: string): PairSeen {
  const { credentials } = connection;
  if (credentials.kind !== "certificate") return ABSENT;
  return pairOf(round, certificateFiles?.certificate ?? path, credentials.certificatePem, credentials.keyPem);
}

function pairOf({ ports }: Round, where: string, certificatePem: string, keyPem: string): PairSeen {
  try {
    const chain = certificateFacts(certificatePem);
    const [first] = chain;
    if (first === undefined) return { kind: "refused", why: `${where} holds no certificate` };
    const keyFits = bytesEqual(ports.keys.describe(keyPem).publicKeyDer, first.publicKeyDer);
    return { kind: "there", where, chain, keyFits };
  } catch (error) {
    return { kind: "refused", why: `${where}: ${errorText(error)}` };
  }
}

/** Does not inspect a self-signed certificate: the agent replaces an unusable pair at startup. */
async function servingPair(round: Round): Promise<PairSeen> {
  const { serving } = round.options.identity;
  if (serving.kind === "selfSigned") return ABSENT;
  const current = `${round.options.directories.certificates}/kubelet-server-current.pem`;
  const signed: PairPaths = { certificate: current, key: current };
  if (serving.kind === "files") return pairFromFiles(round, serving.files);
  const nearest = await probe(round, () => round.ports.inspector.nearest(current));
  if (nearest.kind === "unseen") return { kind: "unseen", why: `${current}: ${nearest.why}` };
  if (nearest.value === current) return pairFromFiles(round, signed);
  return serving.files === undefined ? ABSENT : pairFromFiles(round, serving.files);
}

async function pairFromFiles(round: Round, { certificate, key }: PairPaths): Promise<PairSeen> {
  try {
    const [certificateText, keyText] = await inTime(round, () =>
      Promise.all([round.ports.inspector.text(certificate), round.ports.inspector.text(key)]),
    );
    const keyPem = keyPemOf(keyText);
    if (keyPem === undefined) return { kind: "refused", why: `${key} holds no key` };
    return pairOf(round, certificate, certificateText, keyPem);
  } catch (error) {
    return { kind: "refused", why: `${certificate}: ${errorText(error)}` };
  }
}

async function authorities(round: Round, path: string): Promise<PairSeen> {
  try {
    const chain = certificateFacts(await inTime(round, () => round.ports.inspector.text(path)));
    if (chain.length === 0) return { kind: "refused", why: `${path} holds no certificate` };
    return { kind: "there", where: path, chain, keyFits: true };
  } catch (error) {
    return { kind: "refused", why: `${path}: ${errorText(error)}` };
  }
}

/** Without this machine's ID another machine with the same node name cannot be detected. */
export async function gatherApi(
  round: Round,
  question: IdentityRound["question"],
  machineId: string | undefined,
): Promise<ApiSeen> {
  if (question === undefined) return { kind: "notAsked" };
  const { connection, path } = question;
  const { ports } = round;
  try {
    const answer = await inTime(round, (signal) => ports.ask(connection, path, signal));
    const nowWallMs = ports.clock.wallMs();
    const version =
      path === "/version" ? answer : await inTime(round, (signal) => ports.ask(connection, "/version", signal));
    return {
      kind: "answers",
      url: connection.url,
      status: answer.status,
      message: messageOf(answer.body),
      version: versionOf(version.body),
      // The date has whole seconds: assuming the middle of the second minimizes the error.
      aheadMs: answer.dateWallMs === undefined ? undefined : answer.dateWallMs + 500 - nowWallMs,
      otherMachine:
        answer.status === 200 && path !== "/version" && machineId !== undefined
          ? otherMachine(answer, machineId)
          : undefined,
    };
  } catch (error) {
    return { kind: "silent", url: connection.url, why: errorText(error) };
  }
}

const messageOf = (body: unknown): string => {
  const { message } = (body ?? {}) as { readonly message?: unknown };
  return typeof message === "string" ? message : "";
};

function versionOf(body: unknown): { readonly major: number; readonly minor: number } | undefined {
  const { major, minor } = (body ?? {}) as { readonly major?: unknown; readonly minor?: unknown };
  // Some distributions write "36+".
  const numbers = [major, minor].map((part) => (typeof part === "string" ? Number.parseInt(part, 10) : Number.NaN));
  const [first = Number.NaN, second = Number.NaN] = numbers;
  return Number.isNaN(first) || Number.isNaN(second) ? undefined : { major: first, minor: second };
}

/** A Node that is not ready may be this machine before it was reinstalled. */
function otherMachine({ body }: PlainAnswer, ownId: string): string | undefined {
  const { status } = body as Node;
  const id = status?.nodeInfo?.machineID ?? "";
  const isReady = status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
  return isReady && id !== "" && id !== ownId ? id : undefined;
}
