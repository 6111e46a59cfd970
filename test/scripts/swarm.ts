/** Runs one seed of the swarm again and prints what happened. */
import { describeOutcome, runSeed } from "../../sim/swarm.ts";
import { scriptArguments } from "../../tools/script-arguments.ts";

const USAGE = `Usage: npm run swarm -- [SEED [MINUTES [LINES]]]

Runs one seed of the simulator's swarm again and prints the last lines of its trace and its outcome. Defaults: seed 1,
10 minutes, 400 lines.
`;

const { positionals } = scriptArguments(USAGE, { allowPositionals: true });
const [seed = 1, minutes = 10, lines = 400] = positionals.map(Number);
const outcome = await runSeed({ seed, minutes });
process.stdout.write(`${outcome.lastLines.slice(-lines).join("\n")}\n${describeOutcome(outcome, minutes)}\n`);
