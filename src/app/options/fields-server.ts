/** Fields of the server on port 10250, its authentication and authorization, and certificates. */
import { accepted, field, path, pointer, supported, unimplemented } from "./field.ts";
import { hours, minutes, seconds } from "./value-types.ts";

const systemLogs = unimplemented("the node's log files under /logs/");

export const serverFields = {
  tlsCertFile: field("string", "", "tls-cert-file", supported, path),
  tlsPrivateKeyFile: field("string", "", "tls-private-key-file", supported, path),
  tlsCipherSuites: field("strings", undefined, "tls-cipher-suites", supported),
  tlsCurvePreferences: field("int32s", undefined, "", supported),
  tlsMinVersion: field("string", "", "tls-min-version", supported),
  rotateCertificates: field("bool", false, "rotate-certificates", supported),
  serverTLSBootstrap: field("bool", false, "rotate-server-certificates", supported),
  "authentication.x509.clientCAFile": field("string", "", "client-ca-file", supported, path),
  "authentication.webhook.enabled": field("bool", true, "authentication-token-webhook", supported, pointer),
  "authentication.webhook.cacheTTL": field("duration", minutes(2), "authentication-token-webhook-cache-ttl", supported),
  "authentication.anonymous.enabled": field("bool", false, "anonymous-auth", supported, pointer),
  "authorization.mode": field("string", "Webhook", "authorization-mode", supported, {
    goType: "v1beta1.KubeletAuthorizationMode",
  }),
  "authorization.webhook.cacheAuthorizedTTL": field(
    "duration",
    minutes(5),
    "authorization-webhook-cache-authorized-ttl",
    supported,
  ),
  "authorization.webhook.cacheUnauthorizedTTL": field(
    "duration",
    seconds(30),
    "authorization-webhook-cache-unauthorized-ttl",
    supported,
  ),
  enableDebuggingHandlers: field("bool", true, "enable-debugging-handlers", supported, pointer),
  enableContentionProfiling: field(
    "bool",
    false,
    "contention-profiling",
    accepted("it concerns the locks of a Go program"),
  ),
  enableProfilingHandler: field("bool", true, "", supported, pointer),
  enableDebugFlagsHandler: field("bool", true, "", supported, pointer),
  enableSystemLogHandler: field("bool", true, "", systemLogs, pointer),
  enableSystemLogQuery: field("bool", false, "", systemLogs, pointer),
  streamingConnectionIdleTimeout: field("duration", hours(4), "streaming-connection-idle-timeout", supported),
} as const;
