/** Prints what one pod lifecycle costs, as Markdown. */
import { podLifeAsMarkdown } from "../../sim/pod-life-cost.ts";
import { scriptArguments } from "../../tools/script-arguments.ts";

const USAGE = `Usage: npm run pod-life

Prints what one pod lifecycle costs in calls, requests and synced writes; docs/ARCHITECTURE.md holds the output.
`;

scriptArguments(USAGE, {});
process.stdout.write(await podLifeAsMarkdown());
