/**
 * `npm run guest -- <verb>`: a guest for manual use. `shell` and `run` resume a guest if there is none of that name.
 * The guest outlives the command, with all changes made in it, until `down` ends it.
 */
import { readFile, stat } from "node:fs/promises";
import { connect } from "node:net";
import type { Guest } from "./guest.ts";
import { openGuest, resumeGuest } from "./guests.ts";
import { sockets } from "./pieces/qemu.ts";
import { endAbandoned, endGuest, listGuests } from "./records.ts";
import { guestSnapshot } from "./snapshot.ts";

const USAGE = `Usage: npm run guest -- [--name NAME] <verb>

Starts an emulated machine with cgroup v2 and systemd, resumes it, and ends it.

  build                 builds the image and the guest that is resumed, unless they are cached
  shell                 opens a shell in the guest; Ctrl-] leaves it
  run FILE|COMMAND...   runs a bash script or a command in the guest and exits with its exit code
  list                  lists all guests
  down                  ends the guest

  --name NAME           name of the guest (default: DECKHAND_GUEST, or dev)

Exit codes: 0 ok, 1 failed, 2 usage error.
`;

/** Ctrl-], as in telnet. */
const LEAVE = 0x1d;
const RUN_MS = 60 * 60_000;

const say = (line: string) => console.log(line);
const tell = (line: string) => console.error(line);

async function main(argv: readonly string[]): Promise<number> {
  const args = [...argv];
  let name = process.env["DECKHAND_GUEST"] ?? "dev";
  while (args[0] === "--name") name = args.splice(0, 2)[1] ?? name;
  const [verb, ...rest] = args;
  switch (verb) {
    case "build": {
      const { key } = await guestSnapshot(say);
      say(`guests are resumed from ${key}`);
      return 0;
    }
    case "shell":
      return shell(name);
    case "run":
      return rest.length === 0 ? usageError() : run(name, rest);
    case "list":
      for (const guest of await listGuests()) say(`${guest.name}\t${guest.state}`);
      return 0;
    case "down":
      return down(name);
    case undefined:
    case "help":
    case "--help":
    case "-h":
      process.stdout.write(USAGE);
      return 0;
    default:
      return usageError();
  }
}

function usageError(): number {
  process.stderr.write(USAGE);
  return 2;
}

async function theGuest(name: string): Promise<Guest> {
  await endAbandoned();
  if ((await listGuests()).some((guest) => guest.name === name)) return openGuest(name);
  await guestSnapshot(tell);
  const startedMs = performance.now();
  const guest = await resumeGuest({ name, mayReboot: true, stays: true });
  tell(`${name} is up after ${((performance.now() - startedMs) / 1000).toFixed(1)} s; \`down\` ends it`);
  return guest;
}

async function run(name: string, [first = "", ...rest]: readonly string[]): Promise<number> {
  const isFile = rest.length === 0 && (await stat(first).catch(() => undefined))?.isFile() === true;
  const script = isFile ? await readFile(first, "utf8") : [first, ...rest].join(" ");
  const guest = await theGuest(name);
  try {
    const { code, stdout, stderr } = await guest.run(script, { limitMs: RUN_MS });
    process.stdout.write(stdout);
    process.stderr.write(stderr);
    return code;
  } finally {
    await guest.leave();
  }
}

async function shell(name: string): Promise<number> {
  const guest = await theGuest(name);
  if (process.stdout.isTTY) {
    const { columns, rows } = process.stdout;
    await guest.must(`stty -F /dev/hvc0 cols ${columns} rows ${rows}`);
  }
  await guest.leave();
  tell("Ctrl-] leaves; Enter brings a prompt");
  const line = connect(sockets(guest.directory).shell);
  if (process.stdin.isTTY) process.stdin.setRawMode(true);
  line.pipe(process.stdout);
  const typed = (keys: Buffer) => {
    const end = keys.indexOf(LEAVE);
    line.write(end < 0 ? keys : keys.subarray(0, end));
    if (end < 0) return;
    process.stdin.off("data", typed);
    line.end();
  };
  process.stdin.on("data", typed);
  try {
    await new Promise<void>((resolve, reject) => {
      line.once("close", () => resolve());
      line.once("error", reject);
    });
  } finally {
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    process.stdin.destroy();
  }
  return 0;
}

async function down(name: string): Promise<number> {
  if (!(await listGuests()).some((guest) => guest.name === name)) throw new Error(`there is no guest ${name}`);
  await endGuest(name);
  say(`${name} is down, nothing is left`);
  return 0;
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
