/** The server on 10250, who may ask it, and certificates. */
import { accepted, field, path, pointer, warned } from "./field.ts";
import { hours, minutes, seconds } from "./units.ts";

const server = warned("the server on port 10250");
const certificates = warned("rotation of certificates");

export const serverFields = {
  tlsCertFile: field("string", "", "tls-cert-file", server, path),
  tlsPrivateKeyFile: field("string", "", "tls-private-key-file", server, path),
  tlsCipherSuites: field("strings", undefined, "tls-cipher-suites", server),
  tlsCurvePreferences: field("int32s", undefined, "", server),
  tlsMinVersion: field("string", "", "tls-min-version", server),
  rotateCertificates: field("bool", false, "rotate-certificates", certificates),
  serverTLSBootstrap: field("bool", false, "rotate-server-certificates", certificates),
  "authentication.x509.clientCAFile": field("string", "", "client-ca-file", server, path),
  "authentication.webhook.enabled": field("bool", true, "authentication-token-webhook", server, pointer),
  "authentication.webhook.cacheTTL": field("duration", minutes(2), "authentication-token-webhook-cache-ttl", server),
  "authentication.anonymous.enabled": field("bool", false, "anonymous-auth", server, pointer),
  "authorization.mode": field("string", "Webhook", "authorization-mode", server, {
    goType: "v1beta1.KubeletAuthorizationMode",
  }),
  "authorization.webhook.cacheAuthorizedTTL": field(
    "duration",
    minutes(5),
    "authorization-webhook-cache-authorized-ttl",
    server,
  ),
  "authorization.webhook.cacheUnauthorizedTTL": field(
    "duration",
    seconds(30),
    "authorization-webhook-cache-unauthorized-ttl",
    server,
  ),
  enableDebuggingHandlers: field("bool", true, "enable-debugging-handlers", server, pointer),
  enableContentionProfiling: field(
    "bool",
    false,
    "contention-profiling",
    accepted("it is about the locks of a Go program"),
  ),
  enableProfilingHandler: field("bool", true, "", server, pointer),
  enableDebugFlagsHandler: field("bool", true, "", server, pointer),
  enableSystemLogHandler: field("bool", true, "", server, pointer),
  enableSystemLogQuery: field("bool", false, "", server, pointer),
  streamingConnectionIdleTimeout: field("duration", hours(4), "streaming-connection-idle-timeout", server),
} as const;
