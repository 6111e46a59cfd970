/**
 * A fake systemd on a test's own socket, over a hierarchy of plain directories. It creates, changes and removes slice
 * directories as systemd does, with only the controllers it knows, and signals the end of its jobs. It records all
 * calls.
 */
import { join } from "node:path";
import { cgroupNameOf, cgroupPath } from "../../src/domain/resources/cgroup-name.ts";
import type { DbusValue, DbusVariant } from "../../src/wire/dbus/signature.ts";
import { listenAsPeer, type Peer, type PeerCall } from "./dbus-peer.ts";
import type { PlainTree } from "./plain-cgroup-tree.ts";

export interface PlainSystemd extends Peer {
  /** All calls, as "Member unit Property=value ...". */
  readonly calls: string[];
  /**
   * The response to the next call of a member: a job's result, a job without an end signal, an error with its name, or
   * a closed connection.
   */
  readonly answers: Map<string, { readonly result: string } | { readonly errorName: string } | "hangUp" | "endless">;
  readonly units: Set<string>;
  version: string;
}

const OWN_CONTROLLERS = "+cpu +io +memory +pids";
const INFINITY = 2n ** 64n - 1n;

export async function plainSystemd(socketPath: string, root: string, tree: PlainTree): Promise<PlainSystemd> {
  const calls: string[] = [];
  const units = new Set<string>();
  const answers: PlainSystemd["answers"] = new Map();
  const directoryOf = (unit: string) => join(root, cgroupPath(cgroupNameOf(unit, "systemd"), "systemd"));
  let jobs = 0;
  const handlers: Readonly<Record<string, (unit: string, call: PeerCall) => Promise<boolean>>> = {
    async StartTransientUnit(unit, call) {
      if (units.has(unit)) return failing(call, "UnitExists", `Unit ${unit} already exists.`);
      await makeDirectory(tree, root, directoryOf(unit));
      units.add(unit);
      return true;
    },
    async SetUnitProperties(unit, call) {
      const properties = call.body[2] as readonly (readonly [string, DbusVariant])[];
      for (const [name, { value }] of properties) await setFile(tree, directoryOf(unit), name, value as bigint);
      call.reply("");
      return false;
    },
    async StopUnit(unit, call) {
      if (!units.delete(unit)) return failing(call, "NoSuchUnit", `Unit ${unit} not loaded.`);
      if ((await tree.children(directoryOf(unit))).length === 0) await tree.remove(directoryOf(unit));
      return true;
    },
    ResetFailedUnit(_, call) {
      call.reply("");
      return Promise.resolve(false);
    },
  };
  const answer = async (call: PeerCall) => {
    if (call.member === "Get") return call.reply("v", { signature: "s", value: systemd.version });
    const unit = call.body[0] as string;
    const properties = call.body.find(Array.isArray) as readonly (readonly [string, DbusVariant])[] | undefined;
    const said = (properties ?? []).map(([name, { value }]) => `${name}=${shown(value)}`);
    calls.push([call.member, unit, ...said].join(" "));
    const special = answers.get(call.member);
    answers.delete(call.member);
    if (special === "hangUp") return call.hangUp();
    if (typeof special === "object" && "errorName" in special) return call.fail(special.errorName, "it is said");
    if (!(await handlers[call.member]?.(unit, call))) return;
    jobs += 1;
    const job = `/org/freedesktop/systemd1/job/${jobs}`;
    // The end of a short job may arrive together with its name.
    call.reply("o", job);
    if (special === "endless") return;
    const body = [jobs, job, unit, special?.result ?? "done"];
    call.signal({
      path: "/org/freedesktop/systemd1",
      interface: MANAGER,
      member: "JobRemoved",
      signature: "uoss",
      body,
    });
  };
  // A call that its caller gave up is still answered: `close` waits for that.
  const underWay = new Set<Promise<void>>();
  const peer = await listenAsPeer(socketPath, (call) => {
    const answered = answer(call).finally(() => underWay.delete(answered));
    underWay.add(answered);
  });
  const systemd: PlainSystemd = {
    calls,
    answers,
    units,
    version: "255.4-1ubuntu8",
    close: async () => {
      await peer.close();
      await Promise.all(underWay);
    },
    get connections() {
      return peer.connections;
    },
  };
  return systemd;
}

const shown = (value: DbusValue) =>
  value instanceof Uint8Array || Array.isArray(value) ? value.join(" ") : `${value as string | bigint | boolean}`;

const MANAGER = "org.freedesktop.systemd1.Manager";

function failing(call: PeerCall, name: string, detail: string): boolean {
  call.fail(`org.freedesktop.systemd1.${name}`, detail);
  return false;
}

async function makeDirectory(tree: PlainTree, root: string, directory: string): Promise<void> {
  let parent = root;
  for (const part of directory.slice(root.length + 1).split("/")) {
    if ((await tree.read(join(parent, "cgroup.subtree_control")))?.trim() === "") {
      await tree.write(join(parent, "cgroup.subtree_control"), OWN_CONTROLLERS);
    }
    parent = join(parent, part);
    await tree.make(parent);
  }
}

async function setFile(tree: PlainTree, directory: string, name: string, value: bigint): Promise<void> {
  const text = value === INFINITY ? "max" : String(value);
  if (name === "CPUWeight") await tree.write(join(directory, "cpu.weight"), text);
  if (name === "MemoryMax") await tree.write(join(directory, "memory.max"), text);
  if (name === "TasksMax") await tree.write(join(directory, "pids.max"), text);
}
