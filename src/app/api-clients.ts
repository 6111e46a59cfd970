/**
 * API server clients, created once the agent's identity is known. Each client has its own connections and limits, so
 * that none waits for another.
 */
import type { CertificatePair } from "../domain/identity/certificate-pair.ts";
import type { ApiServer } from "../ports/api-server.ts";
import type { Log } from "../ports/log.ts";
import type { Tracer } from "../ports/tracer.ts";
import { hostClock } from "../wire/host/clock.ts";
import { hostRandom } from "../wire/host/random.ts";
import { createKubeApi, type KubeApi, type KubeApiOptions } from "../wire/kube-api/client.ts";
import type { Connection } from "../wire/kube-api/connection.ts";
import { CredentialSources } from "../wire/kube-api/plugin-credentials.ts";
import { execPluginRunner } from "../wire/kube-api/run-exec-plugin.ts";
import { type ClientIdentity, type ClientIdentityParts, clientIdentity } from "./client-identity.ts";
import type { ApiSettings, CompiledOptions } from "./options/compiled-options.ts";
import { USER_AGENT } from "./version.ts";
import type { ApiPorts } from "./wiring.ts";

/**
 * Each client has its own rate limit: invented tokens of anonymous clients must not delay the authorization of known
 * users.
 */
export interface ReviewClients {
  readonly tokens: ApiServer;
  readonly access: ApiServer;
}

export interface ApiClients {
  readonly ports: ApiPorts;
  /**
   * Used only for TokenReviews and SubjectAccessReviews: clients that send many requests to the node must not use up
   * the request rate that its pods need.
   */
  readonly reviews: ReviewClients;
  close(): Promise<void>;
}

const COMMON = { clock: hostClock, random: hostRandom, userAgent: USER_AGENT };
const UNLIMITED = { requestsPerSecond: 1_000, burst: 1_000 };

/** Returns undefined for a node without an API server. May wait for the first client certificate. */
export async function connectApi(
  options: CompiledOptions,
  ports: Omit<ClientIdentityParts, "connect" | "log"> & { readonly tracer: Tracer },
  log: Log,
  signal: AbortSignal,
): Promise<ApiClients | undefined> {
  const sources = new CredentialSources({
    clock: hostClock,
    random: hostRandom,
    log,
    run: execPluginRunner(hostClock),
  });
  const connect = (connection: Connection) => createKubeApi({ connection, ...COMMON, source: sources.of(connection) });
  const identity = await clientIdentity(options, { ...ports, connect, log }, signal);
  if (identity === undefined || options.api.kind === "standalone") return undefined;
  if (identity.connection.isInsecure === true) {
    log.info(0, INSECURE_WARNING, { server: identity.connection.url });
  }
  return apiClients(options.api, identity, { tracer: ports.tracer, sources });
}

const INSECURE_WARNING =
  "The kubeconfig has insecure-skip-tls-verify: anyone on the network path can act as the API server and run pods here";

function apiClients(
  settings: Extract<ApiSettings, { kind: "cluster" }>,
  { connection, rotation }: ClientIdentity,
  { tracer, sources }: { readonly tracer: Tracer; readonly sources: CredentialSources },
): ApiClients {
  const make = (more: Partial<KubeApiOptions>, to = connection) =>
    createKubeApi({ connection: to, source: sources.of(to), ...COMMON, tracer, ...more });
  const limits = { requestsPerSecond: settings.requestsPerSecond, burst: settings.burst };
  const clients = {
    main: make(limits),
    events: make(UNLIMITED),
    heartbeats: make({ ...UNLIMITED, requestLimitMs: settings.heartbeatLimitMs }),
  };
  const reviews = { tokens: make(limits), access: make(limits) };
  const own: readonly KubeApi[] = [...Object.values(clients), ...Object.values(reviews)];
  const host = new URL(connection.url).host;
  const close = async (all: readonly KubeApi[]) => {
    sources.close();
    await Promise.all(all.map((client) => client.close()));
  };
  if (rotation === undefined) return { ports: { ...clients, host }, reviews, close: () => close(own) };
  const bootstrap = make({}, rotation.bootstrap);
  const show = ({ certificatePem, keyPem }: CertificatePair) => {
    for (const client of own) {
      client.replaceCredentials({ kind: "certificate", certificatePem, keyPem });
      client.endWatches();
    }
    // The bootstrap client is idle until there is no valid certificate again.
    bootstrap.endWatches();
    bootstrap.renewConnections();
  };
  return {
    ports: { ...clients, host, credentials: { ...rotation, bootstrap, show } },
    reviews,
    close: () => close([...own, bootstrap]),
  };
}
