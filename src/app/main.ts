/** The program: hands the arguments over and passes the answer on. */
import { answer } from "./command-line.ts";

const { exitCode, stdout, stderr } = answer(process.argv.slice(2));
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = exitCode;
