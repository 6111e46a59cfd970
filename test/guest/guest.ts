/**
 * A running guest: a whole machine with systemd and cgroup v2, to run scripts in, to put files into and get them out of, to reboot and to
 * connect with the host and with other guests. `close` ends it and leaves nothing.
 */
import { appendFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommandResult } from "../cluster/command.ts";
import { isAlive } from "../cluster/processes.ts";
import { waitUntil } from "../cluster/wait.ts";
import { getFiles, type Payloads, putFiles } from "./disks.ts";
import { forwardPort, hasHostCard, plugHostCard, plugSwitchCard, type Reach } from "./network.ts";
import { Commands, type RunOptions } from "./pieces/commands.ts";
import type { EthernetSwitch } from "./pieces/ethernet-switch.ts";
import { consoleFile, scriptsFile, sockets } from "./pieces/qemu.ts";
import { Qmp } from "./pieces/qmp.ts";
import { endGuest, type GuestRecord, guestFolder } from "./records.ts";

const BOOT_MS = 5 * 60_000;
/** Emulated, and on a busy host. */
const MUST_MS = 5 * 60_000;
const CONSOLE_CHARS = 2_000;
const NOTED_CHARS = 300;

export class Guest {
  readonly name: string;
  readonly folder: string;
  readonly #record: GuestRecord;
  readonly #qmp: Qmp;
  readonly #commands: Commands;
  #calls = 0;

  private constructor(record: GuestRecord, qmp: Qmp, commands: Commands) {
    this.name = record.name;
    this.folder = guestFolder(record.name);
    this.#record = record;
    this.#qmp = qmp;
    this.#commands = commands;
  }

  /** To one that runs. Of one guest only one process at a time is connected. */
  static async connect(record: GuestRecord, readyMs = BOOT_MS): Promise<Guest> {
    const { monitor, commands } = sockets(guestFolder(record.name));
    const qmp = await Qmp.connect(monitor);
    const connected = await Commands.connect(commands);
    const guest = new Guest(record, qmp, connected);
    await connected.ready(readyMs);
    return guest;
  }

  /** Runs a script of bash's, and answers whatever its exit code. What it leaves running runs on. */
  async run(script: string, options?: RunOptions): Promise<CommandResult> {
    const startedMs = performance.now();
    const call = (this.#calls += 1);
    this.#note(call, script.trim().slice(0, NOTED_CHARS).replaceAll(/\n\s*/g, "; "));
    const result = await this.#commands.run(script, options);
    this.#note(call, `ended with ${result.code} after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
    return result;
  }

  /** Runs a script that ends at the first failing command, and answers with what it printed; failing rejects. */
  async must(script: string, { limitMs = MUST_MS }: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(`set -eo pipefail\n${script}`, { limitMs });
    if (code !== 0) throw new Error(`${script.slice(0, 400)}\nended with ${code} in ${this.name}\n${stderr || stdout}`);
    return stdout;
  }

  put(payloads: Payloads): Promise<void> {
    return putFiles(this.#machine(), payloads);
  }

  /** Copies paths of the guest below `into`, and answers where the first one is now. */
  async get(paths: readonly [string, ...string[]], into: string): Promise<string> {
    await getFiles(this.#machine(), paths, into);
    return join(into, paths[0]);
  }

  /** Back when it has booted and its units have settled, with the state systemd is in. */
  async reboot(): Promise<string> {
    if (!this.#record.mayReboot) throw new Error(`${this.name} was not made to be rebooted`);
    const before = await this.#commands.ready(BOOT_MS);
    await this.must("systemctl --no-block reboot").catch((trouble: Error) => {
      // The boot may be over before its answer comes.
      if (!/began anew/.test(trouble.message)) throw trouble;
    });
    await this.#commands.rebooted(before, BOOT_MS);
    return this.settled();
  }

  /** What systemd says once no unit is being started any more. */
  async settled(): Promise<string> {
    return (await this.run("systemctl is-system-running --wait", { limitMs: BOOT_MS })).stdout.trim();
  }

  /** Plugs in the card to the host; to be called once, before `hostPort`, by those who have something to reach. */
  async reach(...reaches: readonly Reach[]): Promise<void> {
    if (await hasHostCard(this.#qmp)) throw new Error(`${this.name} has its card to the host already`);
    await plugHostCard(this.#machine(), reaches);
  }

  /** A port of the host's loopback that leads to this one of the guest's. */
  async hostPort(guestPort: number): Promise<number> {
    if (!(await hasHostCard(this.#qmp))) await this.reach();
    return forwardPort(this.#qmp, guestPort);
  }

  /** Plugs in a card to a network of guests, with this address there (`10.77.0.1/24`). */
  join(network: EthernetSwitch, address: string): Promise<void> {
    return plugSwitchCard(this.#machine(), network, address);
  }

  /** The monitor of its machine, for what is not asked for often. */
  monitor(command: string, args?: object, limitMs?: number): Promise<unknown> {
    return this.#qmp.execute(command, args, limitMs);
  }

  /** The end of what its kernel and systemd wrote to the console. */
  async console(): Promise<string> {
    return (await readFile(consoleFile(this.folder), "utf8").catch(() => "")).slice(-CONSOLE_CHARS);
  }

  /** Back when its machine is gone, because it was switched off or told to end. */
  async ended(limitMs = BOOT_MS): Promise<void> {
    const { qemu } = this.#record;
    if (qemu === undefined) return;
    await waitUntil(`guest ${this.name} to end`, limitMs, async () => !(await isAlive(qemu)));
  }

  /** Lets go of it without ending it. */
  async leave(): Promise<void> {
    await Promise.all([this.#commands.close(), this.#qmp.close()]);
  }

  async close(): Promise<void> {
    await this.leave();
    await endGuest(this.name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** For whoever wonders from outside what a running test waits for. */
  #note(call: number, text: string): void {
    appendFileSync(scriptsFile(this.folder), `${new Date().toISOString()} ${call} ${text}\n`);
  }

  #machine() {
    return { qmp: this.#qmp, folder: this.folder, must: (script: string) => this.must(script) };
  }
}
