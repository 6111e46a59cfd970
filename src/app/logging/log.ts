/**
 * The log of this process: klog's text format or JSON with Kubernetes' fields, one line at a time. All output is masked
 * here. Each module has a name, which stands where klog prints file and line, and which --vmodule matches.
 */
import { pino } from "pino";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { LogSettings } from "../options/compiled-options.ts";
import { klogLine, type Line } from "./klog-text.ts";
import { errorText, maskText, maskValue } from "./mask.ts";
import { verbosityFor } from "./module-patterns.ts";

interface Sink {
  write(line: string): void;
}

export interface ProcessLog {
  /** The log of one module. */
  of(module: string): Log;
  /** Applies from now on to every module without its own verbosity. */
  setVerbosity(verbosity: number): void;
  /** All lines logged so far are written when this returns. */
  flush(): void;
}

export interface LogParts {
  readonly clock: Pick<Clock, "wallMs">;
  readonly pid: number;
  readonly info: Sink;
  readonly errors: Sink;
}

type Fields = Readonly<Record<string, unknown>>;

export function createLog(settings: LogSettings, parts: LogParts): ProcessLog {
  const { clock } = parts;
  const writers = { info: writer(settings, parts, parts.info), errors: writer(settings, parts, parts.errors) };
  // Like klog, determine the verbosity of a module once, at its first line.
  const levels = new Map<string, number>();
  let verbosity = settings.verbosity;
  const levelOf = (module: string) => {
    const level = levels.get(module) ?? verbosityFor(module, { ...settings, verbosity });
    levels.set(module, level);
    return level;
  };
  return {
    of: (module) => ({
      info(level, message, fields = {}) {
        if (level > levelOf(module)) return;
        writers.info(clock.wallMs(), {
          caller: module,
          msg: maskText(message),
          v: level,
          ...masked(fields, INFO_NAMES),
        });
      },
      error(message, error, fields = {}) {
        const err = maskText(errorText(error));
        writers.errors(clock.wallMs(), { caller: module, msg: maskText(message), err, ...masked(fields, ERROR_NAMES) });
      },
    }),
    setVerbosity(changed) {
      verbosity = changed;
      levels.clear();
    },
    flush() {
      for (const sink of [parts.info, parts.errors]) if (isFlushable(sink)) sink.flushSync();
    },
  };
}

const isFlushable = (sink: Sink): sink is Sink & { flushSync(): void } => "flushSync" in sink;

const INFO_NAMES = ["ts", "caller", "msg", "v"];
const ERROR_NAMES = [...INFO_NAMES, "err"];

/** A field must not replace one of the line's own fields: its name gets a trailing underscore. */
function masked(fields: Fields, own: readonly string[]): Fields {
  const entries = Object.entries(maskValue(fields) as Fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [own.includes(name) ? `${name}_` : name, value]));
}

function writer({ format }: LogSettings, { pid }: LogParts, sink: Sink) {
  let wallMs = 0;
  const text: Sink = { write: (line) => sink.write(klogLine(JSON.parse(line) as Line, pid)) };
  const logger = pino(
    {
      base: null,
      // Kubernetes has no field for the level: `v` carries it, and an error has none. So the time comes first.
      formatters: { level: () => ({}) },
      timestamp: () => `"ts":${wallMs}`,
    },
    format === "json" ? sink : text,
  );
  return (nowMs: number, fields: Fields) => {
    wallMs = nowMs;
    logger.info(fields);
  };
}

/**
 * Writes to standard error; with splitStream, lines that are not errors go to standard output. Writes are synchronous.
 */
export function standardStreams({ splitStream }: LogSettings): Pick<LogParts, "info" | "errors"> {
  const errors = pino.destination({ fd: 2, sync: true });
  return { errors, info: splitStream ? pino.destination({ fd: 1, sync: true }) : errors };
}
