/**
 * A running guest: a whole machine with systemd and cgroup v2. It runs scripts, exchanges files with the host, reboots,
 * and connects to the host and to other guests. `close` ends it and leaves nothing behind.
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
import { endGuest, type GuestRecord, guestDirectory } from "./records.ts";

const BOOT_MS = 5 * 60_000;
/** For an emulated guest on a busy host. */
const MUST_MS = 5 * 60_000;
const CONSOLE_CHARS = 2_000;
const NOTED_CHARS = 300;

export class Guest {
  readonly name: string;
  readonly directory: string;
  readonly #record: GuestRecord;
  readonly #qmp: Qmp;
  readonly #commands: Commands;
  #calls = 0;

  private constructor(record: GuestRecord, qmp: Qmp, commands: Commands) {
    this.name = record.name;
    this.directory = guestDirectory(record.name);
    this.#record = record;
    this.#qmp = qmp;
    this.#commands = commands;
  }

  /** Connects to a running guest. Only one process at a time is connected to a guest. */
  static async connect(record: GuestRecord, readyMs = BOOT_MS): Promise<Guest> {
    const { monitor, commands } = sockets(guestDirectory(record.name));
    const qmp = await Qmp.connect(monitor);
    const connected = await Commands.connect(commands);
    const guest = new Guest(record, qmp, connected);
    await connected.ready(readyMs);
    return guest;
  }

  /** Runs a bash script and returns its result whatever its exit code. Processes that it leaves behind keep running. */
  async run(script: string, options?: RunOptions): Promise<CommandResult> {
    const startedMs = performance.now();
    const call = (this.#calls += 1);
    this.#note(call, script.trim().slice(0, NOTED_CHARS).replaceAll(/\n\s*/g, "; "));
    const result = await this.#commands.run(script, options);
    this.#note(call, `ended with ${result.code} after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
    return result;
  }

  /** Runs a script that ends at the first failing command and returns its output. Rejects if the script fails. */
  async must(script: string, { limitMs = MUST_MS }: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(`set -eo pipefail\n${script}`, { limitMs });
    if (code !== 0) throw new Error(`${script.slice(0, 400)}\nended with ${code} in ${this.name}\n${stderr || stdout}`);
    return stdout;
  }

  put(payloads: Payloads): Promise<void> {
    return putFiles(this.#machine(), payloads);
  }

  /** Copies paths of the guest below `into`, and returns the new path of the first one. */
  async get(paths: readonly [string, ...string[]], into: string): Promise<string> {
    await getFiles(this.#machine(), paths, into);
    return join(into, paths[0]);
  }

  /** Reboots, waits until the units have settled, and returns systemd's state. */
  async reboot(): Promise<string> {
    if (!this.#record.mayReboot) throw new Error(`${this.name} was not made to be rebooted`);
    const before = await this.#commands.ready(BOOT_MS);
    await this.must("systemctl --no-block reboot").catch((trouble: Error) => {
      // The reboot may happen before the answer arrives.
      if (!/restarted/.test(trouble.message)) throw trouble;
    });
    await this.#commands.rebooted(before, BOOT_MS);
    return this.settled();
  }

  /** systemd's state once no unit is being started any more. */
  async settled(): Promise<string> {
    return (await this.run("systemctl is-system-running --wait", { limitMs: BOOT_MS })).stdout.trim();
  }

  /**
   * Attaches the network card to the host, with the servers of the host that the guest can reach. Call it once, before
   * `hostPort`.
   */
  async reach(...reaches: readonly Reach[]): Promise<void> {
    if (await hasHostCard(this.#qmp)) throw new Error(`${this.name} has its card to the host already`);
    await plugHostCard(this.#machine(), reaches);
  }

  /** Returns a port of the host's loopback that is forwarded to this port of the guest. */
  async hostPort(guestPort: number): Promise<number> {
    if (!(await hasHostCard(this.#qmp))) await this.reach();
    return forwardPort(this.#qmp, guestPort);
  }

  /** Attaches a card to a network of guests, with this address (such as `10.77.0.1/24`). */
  join(network: EthernetSwitch, address: string): Promise<void> {
    return plugSwitchCard(this.#machine(), network, address);
  }

  /** Runs a command of qemu's monitor, for rare requests. */
  monitor(command: string, args?: object, limitMs?: number): Promise<unknown> {
    return this.#qmp.execute(command, args, limitMs);
  }

  /** The end of the console output of its kernel and systemd. */
  async console(): Promise<string> {
    return (await readFile(consoleFile(this.directory), "utf8").catch(() => "")).slice(-CONSOLE_CHARS);
  }

  /** Resolves when its machine is gone, because it was powered off or ended. */
  async ended(limitMs = BOOT_MS): Promise<void> {
    const { qemu } = this.#record;
    if (qemu === undefined) return;
    await waitUntil(`guest ${this.name} to end`, limitMs, async () => !(await isAlive(qemu)));
  }

  /** Disconnects without ending the guest. */
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

  /** Records the scripts in a file that shows from outside what a running test waits for. */
  #note(call: number, text: string): void {
    appendFileSync(scriptsFile(this.directory), `${new Date().toISOString()} ${call} ${text}\n`);
  }

  #machine() {
    return { qmp: this.#qmp, directory: this.directory, must: (script: string) => this.must(script) };
  }
}
