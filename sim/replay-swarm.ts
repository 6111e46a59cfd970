/** Runs one seed of the swarm again and prints what happened: `npm run swarm -- <seed> <minutes> [lines]`. */
import { describeOutcome, runSeed } from "./swarm.ts";

const [seed = 1, minutes = 10, lines = 400] = process.argv.slice(2).map(Number);
const outcome = await runSeed({ seed, minutes });
process.stdout.write(`${outcome.lastLines.slice(-lines).join("\n")}\n${describeOutcome(outcome, minutes)}\n`);
