/** Rules for metrics, logs, tracing, memory QoS and log files, in the order in which the Go kubelet reports them. */
import { isAscii } from "node:buffer";
import { isAbsolute, normalize } from "node:path";
import { goQuote } from "../../base/go-text.ts";
import { type Rule, spell, when } from "./rule.ts";
import { seconds } from "./value-types.ts";

const INT32_MAX = 2 ** 31 - 1;
const PREVIOUS_MINOR = "1.35";

const hiddenMetrics: Rule = ({ config: { showHiddenMetricsForVersion: version } }) =>
  version === "" || version === PREVIOUS_MINOR
    ? []
    : [
        `invalid showHiddenMetricsForVersion: showHiddenMetricsForVersion: Invalid value: ${goQuote(version)}: must be omitted or have the value '${PREVIOUS_MINOR}'; only the previous minor version is allowed`,
      ];

/** Checked twice, as upstream does: when logging is initialized, and with all other rules. */
export const logging: Rule = ({ config, gates }) => {
  const { "logging.format": format, "logging.flushFrequency": flush, "logging.verbosity": verbosity } = config;
  const modules = config["logging.vmodule"] ?? [];
  const tooLoud = (where: string, level: number) =>
    level > INT32_MAX ? [`${where}: Invalid value: ${level}: Must be <= ${INT32_MAX}`] : [];
  const perModule = modules.flatMap(({ filePattern, verbosity: level }, index) => {
    const where = `logging.vmodule[${index}]`;
    return [
      ...(filePattern === "" ? [`${where}: Required value: File pattern must not be empty`] : []),
      ...(/[=,]/.test(filePattern)
        ? [`${where}: Invalid value: ${goQuote(filePattern)}: File pattern must not contain equal sign or comma`]
        : []),
      ...tooLoud(where, level),
    ];
  });
  const alpha = (["text", "json"] as const).flatMap((kind) => {
    const off = `: Forbidden: Feature LoggingAlphaOptions is disabled`;
    if (gates.LoggingAlphaOptions) return [];
    return [
      ...(config[`logging.options.${kind}.splitStream`] ? [`logging.options.${kind}.splitStream${off}`] : []),
      ...(config[`logging.options.${kind}.infoBufferSize`].nanos !== 0n
        ? [`logging.options.${kind}.infoBufferSize${off}`]
        : []),
    ];
  });
  return [
    ...(flush <= 0n
      ? [`logging.flushFrequency: Invalid value: ${goQuote(spell(flush))}: Must be greater than zero`]
      : []),
    ...(format === "text" || format === "json"
      ? []
      : [`logging.format: Invalid value: ${goQuote(format)}: Unsupported log format`]),
    ...tooLoud("logging.verbosity", verbosity),
    ...(modules.length > 0 && format !== "text"
      ? ["logging.vmodule: Forbidden: Only supported for text log format"]
      : []),
    ...perModule,
    ...alpha,
  ];
};

const tracing: Rule = ({ config: { "tracing.endpoint": endpoint, "tracing.samplingRatePerMillion": rate = 0 } }) => {
  const at = "tracing.samplingRatePerMillion: Invalid value";
  const address = endpoint === undefined ? "dns://" : endpoint.includes("//") ? endpoint : `dns://${endpoint}`;
  const scheme = /^([a-zA-Z][-+.a-zA-Z0-9]*):/.exec(address)?.[1]?.toLowerCase() ?? "";
  return [
    ...(rate < 0 ? [`${at}: ${rate}: sampling rate must be positive`] : []),
    ...(rate > 1_000_000
      ? [`${at}: ${rate}: sampling rate per million must be less than or equal to one million`]
      : []),
    ...(["dns", "unix", "unix-abstract"].includes(scheme)
      ? []
      : [
          `tracing.endpoint: Invalid value: ${goQuote(address)}: unsupported scheme: ${scheme}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`,
        ]),
  ];
};

const memoryQos: Rule = ({ config: { memoryThrottlingFactor: factor, memoryReservationPolicy: policy }, gates }) => [
  ...when(
    factor <= 0 || factor > 1,
    `memoryThrottlingFactor ${factor} must be greater than 0 and less than or equal to 1.0`,
  ),
  ...when(
    !gates.MemoryQoS && policy === "TieredReservation",
    `memoryReservationPolicy ${goQuote(policy)} requires MemoryQoS feature gate to be enabled`,
  ),
  ...when(
    policy !== "None" && policy !== "TieredReservation",
    `option ${goQuote(policy)} specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"`,
  ),
];

const runtime: Rule = ({ config }) => [
  ...when(config.containerRuntimeEndpoint === "", "the containerRuntimeEndpoint was not specified or empty"),
  ...when(
    config.enableSystemLogQuery && !config.enableSystemLogHandler,
    "enableSystemLogHandler is required for enableSystemLogQuery",
  ),
];

const containerLogs: Rule = ({ config }) => [
  ...when(config.containerLogMaxWorkers < 1, "containerLogMaxWorkers must be greater than or equal to 1"),
  ...when(
    config.containerLogMonitorInterval < seconds(3),
    "containerLogMonitorInterval must be a positive time duration greater than or equal to 3s",
  ),
  ...when(config.containerLogMaxFiles <= 1, "containerLogMaxFiles must be greater than 1"),
];

const podLogs: Rule = ({ config: { podLogsDir: directory } }) => [
  ...when(directory === "", "podLogsDir was not specified"),
  ...when(!isAbsolute(directory), `pod logs path ${goQuote(directory)} must be absolute path`),
  ...when(clean(directory) !== directory, `pod logs path ${goQuote(directory)} must be normalized`),
  ...when(!isAscii(Buffer.from(directory)), `pod logs path ${goQuote(directory)} mut contains ASCII characters only`),
];

const clean = (path: string) => (path === "/" ? path : normalize(path).replace(/(?<=.)\/$/, ""));

export const OBSERVING_RULES: readonly Rule[] = [
  hiddenMetrics,
  logging,
  tracing,
  memoryQos,
  runtime,
  containerLogs,
  podLogs,
];
