/**
 * Arguments of the development scripts. `--help` prints the script's usage and ends it with exit code 0; a usage error
 * prints the error and ends it with 2.
 */
import { type ParseArgsConfig, parseArgs } from "node:util";

const USAGE_ERROR = 2;

/** Every option of the configuration has to be described in the usage. */
export function scriptArguments<T extends ParseArgsConfig>(usage: string, config: T): ReturnType<typeof parseArgs<T>> {
  const undescribed = Object.keys(config.options ?? {}).filter(
    (name) => !new RegExp(`--${name}(?![\\w-])`).test(usage),
  );
  if (undescribed.length > 0) throw new Error(`the usage does not describe --${undescribed.join(", --")}`);
  const args = config.args ?? process.argv.slice(2);
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(usage);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    return usageError(error instanceof Error ? error.message : String(error));
  }
}

export function usageError(message: string): never {
  process.stderr.write(`error: ${message}\nRun it with --help for its usage.\n`);
  process.exit(USAGE_ERROR);
}
