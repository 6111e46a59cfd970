/** Prints the calls of pod lifecycles, as Markdown. */
import { sequencesAsMarkdown } from "../../sim/sequences.ts";
import { scriptArguments } from "../../tools/script-arguments.ts";

const USAGE = `Usage: npm run sequences

Prints the calls of pod lifecycles in the simulator, in order; docs/from-the-go-kubelet.md holds the output.
`;

scriptArguments(USAGE, {});
process.stdout.write(await sequencesAsMarkdown());
