/**
 * The command line of an emulated machine. A resumed one must have the devices of the one that was kept, so there is one shape, and
 * what a single guest wants more (networks, disks) is plugged into it while it runs.
 */
import { join } from "node:path";

export interface Machine {
  readonly kernel: string;
  readonly initrd: string;
  /** A qcow2 overlay of its own. */
  readonly disk: string;
  /** For its sockets and its console. */
  readonly directory: string;
  /** A machine that may not ends when its guest reboots or panics. */
  readonly mayReboot: boolean;
  /** The state of a machine to go on from; without it the machine boots. */
  readonly resumeFrom?: string;
}

export const sockets = (directory: string) => ({
  monitor: join(directory, "monitor.sock"),
  commands: join(directory, "commands.sock"),
  shell: join(directory, "shell.sock"),
});

export const consoleFile = (directory: string) => join(directory, "console.log");
export const scriptsFile = (directory: string) => join(directory, "scripts.log");

const KERNEL_OPTIONS = [
  "root=/dev/vda",
  "rw",
  "rootflags=noinit_itable",
  "console=ttyS0",
  "systemd.unified_cgroup_hierarchy=1",
  "mitigations=off",
  "nokaslr",
  "no_timer_check",
  "random.trust_cpu=on",
  "audit=0",
  "panic=-1",
  "net.ifnames=0",
];

export const QEMU = "qemu-system-x86_64";

export function qemuCommand({ kernel, initrd, disk, directory, mayReboot, resumeFrom }: Machine): readonly string[] {
  const { monitor, commands, shell } = sockets(directory);
  const socket = (id: string, path: string) => `socket,id=${id},path=${escaped(path)},server=on,wait=off`;
  const options: readonly (readonly string[])[] = [
    ["-M", "pc"],
    ["-accel", "tcg,thread=multi,tb-size=512"],
    ["-cpu", "Nehalem-v1"],
    ["-smp", "2"],
    ["-m", "4096"],
    ["-nodefaults"],
    ["-no-user-config"],
    ["-display", "none"],
    ["-nic", "none"],
    ["-kernel", kernel],
    ["-initrd", initrd],
    ["-append", KERNEL_OPTIONS.join(" ")],
    // Nothing of it has to outlive this machine's page cache.
    ["-drive", `if=none,id=root,format=qcow2,cache=unsafe,file=${escaped(disk)}`],
    ["-device", "virtio-blk-pci,drive=root"],
    ["-device", "virtio-rng-pci"],
    ["-chardev", `file,id=console,path=${escaped(consoleFile(directory))}`],
    ["-serial", "chardev:console"],
    ["-device", "virtio-serial-pci"],
    ["-chardev", socket("shell", shell)],
    ["-device", "virtconsole,chardev=shell"],
    ["-chardev", socket("commands", commands)],
    ["-device", "virtserialport,chardev=commands,name=deckhand.commands"],
    ["-chardev", socket("monitor", monitor)],
    ["-mon", "chardev=monitor,mode=control"],
    ...(mayReboot ? [] : [["-no-reboot"]]),
    ...(resumeFrom === undefined ? [] : [["-incoming", `exec:cat ${quoted(resumeFrom)}`]]),
  ];
  return [QEMU, ...options.flat()];
}

/** A comma ends a value of qemu's. */
const escaped = (value: string) => value.replaceAll(",", ",,");

/** As one word of a shell. */
export const quoted = (value: string) => `'${value.replaceAll("'", `'\\''`)}'`;
