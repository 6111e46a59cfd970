/** Where pods come from, the node's own object, and how it reports. */
import { accepted, field, path, pointer, refused, supported, warned } from "./field.ts";
import { minutes, seconds } from "./units.ts";

const server = warned("the server on port 10250");
const unbuffered = accepted("each line is written when it is said");
const dns = warned("DNS of pods");

export const nodeFields = {
  staticPodPath: field("string", "", "pod-manifest-path", supported, path),
  podLogsDir: field("string", "/var/log/pods", "", supported, path),
  syncFrequency: field("duration", minutes(1), "sync-frequency", supported),
  fileCheckFrequency: field("duration", seconds(20), "file-check-frequency", supported),
  httpCheckFrequency: field("duration", seconds(20), "http-check-frequency", supported),
  staticPodURL: field("string", "", "manifest-url", supported),
  staticPodURLHeader: field("stringListMap", undefined, "manifest-url-header", supported),
  healthzPort: field("int32", 10248, "healthz-port", supported, pointer),
  healthzBindAddress: field("string", "127.0.0.1", "healthz-bind-address", supported),
  clusterDomain: field("string", "", "cluster-domain", dns),
  clusterDNS: field("strings", undefined, "cluster-dns", dns),
  resolvConf: field("string", "/etc/resolv.conf", "resolv-conf", dns, { keepsZero: true, isPath: true }),
  nodeStatusUpdateFrequency: field("duration", seconds(10), "node-status-update-frequency", supported),
  nodeStatusReportFrequency: field("duration", minutes(5), "", supported),
  nodeLeaseDurationSeconds: field("int32", 40, "", supported),
  nodeStatusMaxImages: field("int32", 50, "node-status-max-images", supported, pointer),
  maxPods: field("int32", 110, "max-pods", supported),
  podsPerCore: field("int32", 0, "pods-per-core", supported),
  podCIDR: field("string", "", "pod-cidr", supported),
  providerID: field("string", "", "provider-id", supported),
  registerNode: field("bool", true, "register-node", supported, pointer),
  registerWithTaints: field("taints", undefined, "register-with-taints", supported),
  kubeAPIQPS: field("int32", 50, "kube-api-qps", supported, pointer),
  kubeAPIBurst: field("int32", 100, "kube-api-burst", supported),
  eventRecordQPS: field("int32", 50, "event-qps", supported, pointer),
  eventBurst: field("int32", 100, "event-burst", supported),
  contentType: field(
    "string",
    "application/vnd.kubernetes.protobuf",
    "kube-api-content-type",
    accepted("the API server is always spoken to in JSON"),
  ),
  featureGates: field("boolMap", undefined, "feature-gates", supported),
  runOnce: field("bool", false, "runonce", refused("the Go kubelet refuses it too")),
  showHiddenMetricsForVersion: field("string", "", "", warned("metrics")),
  "tracing.endpoint": field("string", undefined, "", warned("tracing"), pointer),
  "tracing.samplingRatePerMillion": field("int32", undefined, "", warned("tracing"), pointer),
  "logging.format": field("string", "text", "logging-format", supported),
  "logging.flushFrequency": field("durationOrNs", seconds(5), "log-flush-frequency", unbuffered),
  "logging.verbosity": field("uint32", 0, "v", supported),
  "logging.vmodule": field("moduleVerbosities", undefined, "vmodule", supported),
  "logging.options.text.splitStream": field("bool", false, "log-text-split-stream", supported),
  "logging.options.text.infoBufferSize": field(
    "quantity",
    { nanos: 0n, format: "DecimalSI" },
    "log-text-info-buffer-size",
    unbuffered,
  ),
  "logging.options.json.splitStream": field("bool", false, "log-json-split-stream", supported),
  "logging.options.json.infoBufferSize": field(
    "quantity",
    { nanos: 0n, format: "DecimalSI" },
    "log-json-info-buffer-size",
    unbuffered,
  ),
  enableServer: field("bool", true, "enable-server", supported, pointer),
  address: field("string", "0.0.0.0", "address", server),
  port: field("int32", 10250, "port", server),
  readOnlyPort: field("int32", 0, "read-only-port", server),
} as const;
