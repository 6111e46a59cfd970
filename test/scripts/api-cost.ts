/** Prints what one node requests of the API server, as Markdown. */
import { dayAsMarkdown, hourAsMarkdown } from "../../sim/measure-api-cost.ts";
import { scriptArguments, usageError } from "../../tools/script-arguments.ts";

const USAGE = `Usage: npm run api-cost -- hour|day

Measures in the simulator what one node requests of the API server in an hour or a day; docs/scale.md holds the output.
`;

const [size] = scriptArguments(USAGE, { allowPositionals: true }).positionals;
if (size !== "hour" && size !== "day") usageError("expected hour or day");
process.stdout.write(await (size === "hour" ? hourAsMarkdown() : dayAsMarkdown()));
