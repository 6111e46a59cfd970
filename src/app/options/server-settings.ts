/** Settings of the server on port 10250, its authentication and its authorization. */
import { CompileFault, DependencyFault } from "./compile-fault.ts";
import type { FeatureGates } from "./feature-gates.ts";
import type { Configuration } from "./fields.ts";
import { cipherSuites, curvePreferences, type Named, tlsVersion } from "./tls-names.ts";
import { toMs } from "./value-types.ts";

export interface ServerSettings {
  readonly enabled: boolean;
  readonly address: string;
  readonly port: number;
  /** 0: there is no read-only port. */
  readonly readOnlyPort: number;
  readonly tls: {
    readonly minVersion: "TLSv1" | "TLSv1.1" | "TLSv1.2" | "TLSv1.3";
    readonly ciphers: string;
    readonly curves: string;
  };
  /** Undefined: client certificates authenticate nobody. */
  readonly clientCa: { readonly path: string; readonly reload: boolean } | undefined;
  readonly authentication: {
    /** Undefined: bearer tokens are not checked. */
    readonly tokenKeepMs: number | undefined;
    readonly anonymous: boolean;
  };
  readonly authorization:
    | { readonly mode: "alwaysAllow" }
    | { readonly mode: "webhook"; readonly keepAllowedMs: number; readonly keepDeniedMs: number };
  readonly toggles: {
    readonly debugging: boolean;
    readonly profiling: boolean;
    readonly debugFlags: boolean;
    readonly systemLogs: boolean;
  };
  readonly streamIdleMs: number;
}

export function serverOf(config: Configuration, gates: FeatureGates): ServerSettings {
  return {
    enabled: config.enableServer,
    address: config.address,
    port: config.port,
    readOnlyPort: config.readOnlyPort,
    tls: {
      minVersion: named(tlsVersion(config.tlsMinVersion)),
      ciphers: named(cipherSuites(config.tlsCipherSuites ?? [])),
      curves: named(curvePreferences(config.tlsCurvePreferences ?? [])),
    },
    clientCa:
      config["authentication.x509.clientCAFile"] === ""
        ? undefined
        : { path: config["authentication.x509.clientCAFile"], reload: gates.ReloadKubeletClientCAFile },
    authentication: authenticationOf(config),
    authorization: authorizationOf(config),
    toggles: {
      debugging: config.enableDebuggingHandlers,
      profiling: config.enableProfilingHandler,
      debugFlags: config.enableDebugFlagsHandler,
      systemLogs: config.enableSystemLogHandler,
    },
    streamIdleMs: toMs(config.streamingConnectionIdleTimeout),
  };
}

function named<T extends string>(name: Named<T>): T {
  if (name.kind === "fault") throw new DependencyFault(name.fault);
  return name.name;
}

function authenticationOf(config: Configuration): ServerSettings["authentication"] {
  const keepMs = toMs(config["authentication.webhook.cacheTTL"]);
  return {
    tokenKeepMs: config["authentication.webhook.enabled"] ? keepMs : undefined,
    anonymous: config["authentication.anonymous.enabled"],
  };
}

function authorizationOf(config: Configuration): ServerSettings["authorization"] {
  switch (config["authorization.mode"]) {
    case "AlwaysAllow":
      return { mode: "alwaysAllow" };
    case "Webhook":
      return {
        mode: "webhook",
        keepAllowedMs: toMs(config["authorization.webhook.cacheAuthorizedTTL"]),
        keepDeniedMs: toMs(config["authorization.webhook.cacheUnauthorizedTTL"]),
      };
    case "":
      throw new CompileFault("no authorization mode specified");
    default:
      throw new CompileFault(`unknown authorization mode ${config["authorization.mode"]}`);
  }
}

/**
 * Returns why the server could authorize no request, in the Go kubelet's wording; with such settings a kubelet does not
 * start. Returns undefined if requests can be authorized.
 */
export function accessFault(
  { authentication, authorization, clientCa }: ServerSettings,
  hasApi: boolean,
): string | undefined {
  const { tokenKeepMs, anonymous } = authentication;
  if (tokenKeepMs !== undefined && !hasApi) return "no client provided, cannot use webhook authentication";
  if (tokenKeepMs === undefined && clientCa === undefined && !anonymous) return "no authentication method configured";
  if (authorization.mode === "webhook" && !hasApi) return "no client provided, cannot use webhook authorization";
  return undefined;
}
