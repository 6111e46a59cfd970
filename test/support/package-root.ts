/**
 * A root directory in which to install packages: an overlay over this machine's own, which keeps writes in memory until
 * it ends. A fake systemctl records its calls and the state it would have found. `is-enabled`, `enable`, `disable` and
 * `preset` go to the real systemctl, because they only concern files. The root exists in the mount namespace of
 * whatever runs the commands.
 */
import assert from "node:assert/strict";
import type { CommandResult } from "../cluster/command.ts";

/** Runs a command in that mount namespace. */
export type RunThere = (...args: readonly string[]) => Promise<CommandResult>;

/** Logs each call with the program behind /usr/bin/kubelet and the Type of the kubelet's unit. */
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

  /** `memory` is a directory on a tmpfs in that namespace. */
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

  /** Runs a command in this root. */
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

  /** The calls of systemctl since the last query. */
  async asked(): Promise<readonly string[]> {
    const said = await this.must("sh", "-c", "cat /run/systemctl.log 2>/dev/null; rm -f /run/systemctl.log");
    return said.split("\n").filter((line) => line !== "");
  }

  /** Makes systemctl fail for this verb from now on. */
  async fail(verb: string): Promise<void> {
    await this.must("sh", "-ec", 'echo "$1" >>/run/systemctl.fails', "sh", verb);
  }

  /** Whether the service is enabled at boot. */
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
