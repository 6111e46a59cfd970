/**
 * Builds the node's API from the kubelet's cells, ports and options: authentication and authorization, the plain
 * routes, and the routes that other modules contribute. Its loops also keep the serving certificate and the client CA
 * in sync with their files.
 */
import type { X509Certificate } from "node:crypto";
import { runClientCa } from "../controllers/identity/client-ca.ts";
import { selfSignedPaths } from "../controllers/identity/self-signed.ts";
import { AccessLog } from "../server/access-log.ts";
import { AccessReviewCache } from "../server/access-review-cache.ts";
import type { AuthenticationParts } from "../server/authentication.ts";
import type { AuthorizationParts } from "../server/authorization.ts";
import { bundleFault, parseCertificates, servingFault } from "../server/certificate-pem.ts";
import { ConnectionLimiter } from "../server/connection-limiter.ts";
import { containerLogs } from "../server/container-logs.ts";
import { Dispatch } from "../server/dispatch.ts";
import type { HealthCheck } from "../server/healthz.ts";
import { LIMITS } from "../server/limits.ts";
import { type ListenerOptions, runListener } from "../server/listener.ts";
import type { RequestObserver } from "../server/request-observer.ts";
import type { Route } from "../server/route.ts";
import { Router } from "../server/router.ts";
import { configzRoute } from "../server/routes/configz.ts";
import { verbosityRoute } from "../server/routes/debug-flags.ts";
import { explainRoutes } from "../server/routes/explain.ts";
import { healthRoutes } from "../server/routes/health.ts";
import { podsRoute, runningPodsRoute } from "../server/routes/pods.ts";
import { type Profiles, profilingRoute } from "../server/routes/profiling.ts";
import { systemLogsRoute } from "../server/routes/system-logs.ts";
import { flagzRoute, statuszRoute } from "../server/routes/zpages.ts";
import type { ReviewClients } from "./api-clients.ts";
import { servingLoops } from "./compose-identity.ts";
import { localPod, localPods } from "./local-pods.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import { encodeConfiguration } from "./options/decode-configuration.ts";
import { sharedExplanations } from "./shared-explanations.ts";
import { KUBERNETES_VERSION } from "./version.ts";
import type { Cells, KubeletPorts, Loop } from "./wiring.ts";

export interface ServerWiring {
  readonly ports: KubeletPorts;
  readonly options: CompiledOptions;
  readonly cells: Cells;
  /** Undefined: a node without an API server. */
  readonly reviews: ReviewClients | undefined;
  readonly checks: readonly HealthCheck[];
  readonly otherRoutes: readonly Route[];
  readonly observer: RequestObserver;
  readonly process: ProcessFacts;
}

/** Facts about this process. */
export interface ProcessFacts {
  readonly startedWallMs: number;
  /** The platform that runs the process, with its version. */
  readonly platform: string;
  readonly profiles: Profiles;
  readonly setVerbosity: (verbosity: number) => void;
}

/** Returns no loops if the configuration disables the server. */
export function serverLoops(wiring: ServerWiring): readonly Loop[] {
  const { ports, options, cells } = wiring;
  const { server } = options;
  if (!server.enabled) return [];
  const authorities = {
    clock: ports.clock,
    files: ports.files,
    clientCa: cells.clientCa,
    log: ports.logOf("identity"),
    bundleFault,
  };
  const { clientCa, readOnlyPort } = server;
  return [
    ...servingLoops(wiring, servingFault),
    ...(clientCa === undefined ? [] : [(shutdown: AbortSignal) => runClientCa(clientCa, authorities, shutdown)]),
    (shutdown) => securedListener(wiring, shutdown),
    ...(readOnlyPort === 0 ? [] : [(shutdown: AbortSignal) => readOnlyListener(wiring, shutdown)]),
  ];
}

async function securedListener(wiring: ServerWiring, shutdown: AbortSignal): Promise<void> {
  const { options, cells } = wiring;
  const { address, port, tls: settings } = options.server;
  const tls = { settings, certificate: cells.servingCertificate, clientCa: cells.clientCa };
  const access = {
    authentication: authenticationOf(wiring, shutdown),
    authorization: authorizationOf(wiring, shutdown),
  };
  await listen(wiring, { address, port, tls, failureIsFatal: isFatal(options) }, access, shutdown);
}

async function readOnlyListener(wiring: ServerWiring, shutdown: AbortSignal): Promise<void> {
  const { address, readOnlyPort: port } = wiring.options.server;
  const failureIsFatal = isFatal(wiring.options);
  await listen(wiring, { address, port, tls: undefined, failureIsFatal }, undefined, shutdown);
}

const isFatal = ({ compatibility }: CompiledOptions) => compatibility.misconfigurationIsFatal;

async function listen(
  wiring: ServerWiring,
  options: ListenerOptions,
  access: { readonly authentication: AuthenticationParts; readonly authorization: AuthorizationParts } | undefined,
  shutdown: AbortSignal,
): Promise<void> {
  const { ports, observer } = wiring;
  const { clock } = ports;
  const { node, server } = wiring.options;
  const log = ports.logOf("server");
  const limiter = new ConnectionLimiter(LIMITS, clock);
  const dispatch = new Dispatch(
    {
      clock,
      log,
      tracer: ports.tracer,
      accessLog: new AccessLog(ports.logOf("access"), clock),
      observer,
      router: new Router([...plainRoutes(wiring), ...wiring.otherRoutes]),
      toggles: server.toggles,
      access,
      limiter,
      streamIdleMs: server.streamIdleMs,
      streamsMax: 4 * node.podsMax,
    },
    shutdown,
  );
  await runListener(options, { clock, log, limiter, dispatch }, shutdown);
}

function plainRoutes({ ports, options, cells, checks, process }: ServerWiring): readonly Route[] {
  const { clock } = ports;
  const { gates, configuration, flags } = options;
  const wallMs = () => clock.wallMs();
  const monotonicMs = () => clock.monotonicMs();
  return [
    ...healthRoutes(checks, ports.logOf("healthz")),
    podsRoute(() => localPods({ cells, options }, wallMs()), monotonicMs),
    runningPodsRoute(ports.runtime),
    ...explainRoutes(sharedExplanations(ports, options.directories.root), wallMs),
    configzRoute(() => encodeConfiguration({ ...configuration, ...selfSignedFiles(options) })),
    ...(gates.ComponentFlagz ? [flagzRoute(flags)] : []),
    ...(gates.ComponentStatusz ? [statuszRoute({ ...process, ...VERSIONS, paths: PAGES }, wallMs)] : []),
    verbosityRoute(process.setVerbosity),
    profilingRoute(process.profiles),
    systemLogsRoute,
    containerLogs({
      clock,
      files: ports.files,
      logFiles: ports.logFiles,
      runtime: ports.runtime,
      podRuntimeStatus: cells.podRuntimeStatus,
      log: ports.logOf("server"),
      podNamed: (namespace, name) => localPod({ cells, options }, namespace, name, wallMs()),
      splitStreams: gates.PodLogsQuerySplitStreams,
    }),
  ];
}

/** If the configuration names no certificate, /configz reports the paths of the self-signed one. */
const selfSignedFiles = ({ identity, directories }: CompiledOptions) => {
  if (identity.serving.kind !== "selfSigned") return {};
  const { certificate, key } = selfSignedPaths(directories.certificates);
  return { tlsCertFile: certificate, tlsPrivateKeyFile: key };
};

const [, major = "", minor = "", patch = ""] = /^v(\d+)\.(\d+)\.(\d+)/.exec(KUBERNETES_VERSION) ?? [];
const VERSIONS = { binaryVersion: `${major}.${minor}.${patch}`, emulationVersion: `${major}.${minor}` };
/** The paths that the Go kubelet lists. */
const PAGES = ["/configz", "/debug", "/flagz", "/healthz", "/metrics"];

function authenticationOf(
  { ports, options, cells, reviews }: ServerWiring,
  shutdown: AbortSignal,
): AuthenticationParts {
  const { tokenKeepMs: keepMs, anonymous } = options.server.authentication;
  const { clock } = ports;
  return {
    clock,
    anonymous,
    authorities: authoritiesOf(cells),
    tokens:
      keepMs === undefined || reviews === undefined
        ? undefined
        : { api: reviews.tokens, cache: new AccessReviewCache(clock, shutdown), keepMs },
  };
}

/** Parses each bundle only once. */
function authoritiesOf({ clientCa }: Cells): () => readonly X509Certificate[] {
  let known: { readonly pem: string | undefined; readonly parsed: readonly X509Certificate[] } = {
    pem: undefined,
    parsed: [],
  };
  return () => {
    const pem = clientCa.value;
    if (pem !== known.pem) known = { pem, parsed: pem === undefined ? [] : parseCertificates(pem) };
    return known.parsed;
  };
}

function authorizationOf({ ports, options, reviews }: ServerWiring, shutdown: AbortSignal): AuthorizationParts {
  const { authorization } = options.server;
  const { clock } = ports;
  if (authorization.mode === "alwaysAllow") return authorization;
  if (reviews === undefined) throw new Error("no client provided, cannot use webhook authorization");
  return {
    ...authorization,
    api: reviews.access,
    cache: new AccessReviewCache(clock, shutdown),
    nodeName: options.node.name,
  };
}
