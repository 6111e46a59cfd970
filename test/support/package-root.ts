/**
 * A root folder to install packages in: this machine's own, with whatever is written kept in memory and gone at the end, and with a stand-in for
 * systemctl that writes down what it was asked to do, and what it would have found then. Which units are enabled is files, and the real one's to change and
 * to say. It lives in somebody's mount namespace, who runs the commands.
 */
import assert from "node:assert/strict";
import type { CommandResult } from "../cluster/command.ts";

/** Runs a command in the mount namespace. */
export type RunThere = (...args: readonly string[]) => Promise<CommandResult>;

/** Says for whom it was asked: whose program and which kind of unit stand in the kubelet's place. */
const SYSTEMCTL = `#!/bin/sh
export SYSTEMD_OFFLINE=1
case " $* " in *" is-enabled "*) exec systemctl.real "$@" ;; esac
unit=/usr/lib/systemd/system/kubelet.service
[ -e "$unit" ] || unit=/lib/systemd/system/kubelet.service
echo "$*: $(readlink -f /usr/bin/kubelet) $(sed -n 's/^Type=//p' "$unit" 2>/dev/null)" >>/run/systemctl.log
if grep -qsx -- "$1" /run/systemctl.fails; then exit 1; fi
case " $* " in *" enable "* | *" disable "* | *" preset "*) exec systemctl.real "$@" ;; esac
`;

export class PackageRoot {
  readonly path: string;
  readonly #run: RunThere;

  private constructor(path: string, run: RunThere) {
    this.path = path;
    this.#run = run;
  }

  /** `memory` is a folder on a file system in memory, there. */
  static async make(memory: string, run: RunThere): Promise<PackageRoot> {
    const root = new PackageRoot(`${memory}/root`, run);
    const [upper, work] = ["upper", "work"].map((name) => `${memory}/${name}`);
    await root.#must(["mkdir", "-p", root.path, `${upper}`, `${work}`]);
    const layers = `lowerdir=/,upperdir=${upper},workdir=${work}`;
    await root.#must(["mount", "-t", "overlay", "-o", layers, "overlay", root.path]);
    await root.must("mv", "/usr/bin/systemctl", "/usr/bin/systemctl.real");
    await root.write("/usr/bin/systemctl", SYSTEMCTL, 0o755);
    await root.must("mkdir", "-p", "/run/systemd/system");
    return root;
  }

  /** In it. */
  run(...args: readonly string[]): Promise<CommandResult> {
    return this.#run("chroot", this.path, ...args);
  }

  async must(...args: readonly string[]): Promise<string> {
    return this.#must(["chroot", this.path, ...args]);
  }

  async write(path: string, text: string, mode: number): Promise<void> {
    const script = 'rm -f "$1"; printf %s "$2" >"$1"; chmod "$3" "$1"';
    await this.must("sh", "-ec", script, "sh", path, text, mode.toString(8));
  }

  /** What systemctl has been asked since the last time. */
  async asked(): Promise<readonly string[]> {
    const said = await this.must("sh", "-c", "cat /run/systemctl.log 2>/dev/null; rm -f /run/systemctl.log");
    return said.split("\n").filter((line) => line !== "");
  }

  /** Has systemctl fail at this from now on. */
  async fail(verb: string): Promise<void> {
    await this.must("sh", "-ec", 'echo "$1" >>/run/systemctl.fails', "sh", verb);
  }

  /** Whether the service would be started with the machine. */
  async enabled(): Promise<boolean> {
    return (await this.run("systemctl", "is-enabled", "kubelet.service")).code === 0;
  }

  async exists(path: string): Promise<boolean> {
    return (await this.run("test", "-e", path)).code === 0;
  }

  async #must(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.#run(...args);
    assert.equal(code, 0, `${args.join(" ")}\n${stdout}${stderr}`);
    return stdout;
  }
}
