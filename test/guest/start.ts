/** Starts the emulated machine of a guest, from its image or from a kept state. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { makeCgroup } from "../cluster/cgroups.ts";
import { command } from "../cluster/command.ts";
import { isAlive, launch } from "../cluster/processes.ts";
import { waitUntil } from "../cluster/wait.ts";
import { Guest } from "./guest.ts";
import { consoleFile, qemuCommand, sockets } from "./pieces/qemu.ts";
import { Qmp } from "./pieces/qmp.ts";
import { endGuest, enterGuest, type GuestRecord, guestCgroup, guestDirectory, writeRecord } from "./records.ts";

export interface Start {
  readonly name: string;
  /** Ends with this process. Otherwise it stays until somebody ends it. */
  readonly disposable: boolean;
  readonly mayReboot: boolean;
  readonly kernel: string;
  readonly initrd: string;
  /** What its own disk is laid over. */
  readonly base: { readonly file: string; readonly format: "raw" | "qcow2" };
  /** The state to go on from; without it the machine boots. */
  readonly resumeFrom?: string;
}

const START_MS = 60_000;
const LOG_CHARS = 2_000;

export async function startGuest(start: Start): Promise<Guest> {
  const { name } = start;
  const entered = await enterGuest(name, start);
  try {
    const record = await startQemu(start, entered);
    if (start.resumeFrom !== undefined) await goOn(name);
    return await Guest.connect(record);
  } catch (error) {
    const said = await Promise.all(
      [logFile(name), consoleFile(guestDirectory(name))].map((file) => readFile(file, "utf8").catch(() => "")),
    );
    await endGuest(name);
    const end = said.map((text) => text.slice(-LOG_CHARS)).join("\n");
    throw new Error(`guest ${name} did not start\n${end}`, { cause: error });
  }
}

const logFile = (name: string) => join(guestDirectory(name), "qemu.log");

async function startQemu(start: Start, entered: GuestRecord): Promise<GuestRecord> {
  const { name, disposable, mayReboot, kernel, initrd, base, resumeFrom } = start;
  const directory = guestDirectory(name);
  const disk = join(directory, "disk.qcow2");
  await command("qemu-img", ["create", "-q", "-f", "qcow2", "-b", base.file, "-F", base.format, disk]);
  await makeCgroup(guestCgroup(name));
  const machine = { kernel, initrd, disk, directory, mayReboot, ...(resumeFrom === undefined ? {} : { resumeFrom }) };
  const { pid, startTicks } = await launch({
    name: `guest ${name}`,
    // However this process ends, the kernel then ends the machine.
    command: [...(disposable ? ["setpriv", "--pdeathsig", "KILL"] : []), ...qemuCommand(machine)],
    cgroup: guestCgroup(name),
    logFile: logFile(name),
    ready: { kind: "became", program: "qemu" },
  });
  const record = { ...entered, qemu: { pid, startTicks } };
  await writeRecord(record);
  await waitUntil(
    `the monitor of ${name}`,
    START_MS,
    async () => {
      if (!(await isAlive(record.qemu))) throw new Error("qemu has ended");
      return isListening(sockets(directory).monitor);
    },
    10,
  );
  return record;
}

/** The socket's file is there before anybody may connect. */
async function isListening(socket: string): Promise<boolean> {
  const ACCEPTS = "00010000";
  const lines = (await readFile("/proc/net/unix", "utf8")).split("\n").map((line) => line.split(/\s+/));
  return lines.some(([, , , flags, , , , path]) => flags === ACCEPTS && path === socket);
}

/** A restored machine stays paused until QMP continues it. */
async function goOn(name: string): Promise<void> {
  const qmp = await Qmp.connect(sockets(guestDirectory(name)).monitor);
  try {
    await waitUntil(
      `the state of ${name}`,
      START_MS,
      async () => ((await qmp.execute("query-status")) as { readonly status: string }).status !== "inmigrate",
      10,
    );
    await qmp.execute("cont");
  } finally {
    await qmp.close();
  }
}
