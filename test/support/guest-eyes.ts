/**
 * What becomes of a guest's containers and mounts, noted in the guest all the time and whatever its kubelet does: containerd's events, and every mount that
 * goes. A kubelet is never asked.
 */
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { waitUntil } from "../cluster/wait.ts";
import type { Guest } from "../guest/guest.ts";

export interface GuestContainer {
  readonly id: string;
  readonly pod: string;
  /** Empty for the sandbox. */
  readonly name: string;
  readonly pid: number;
  /** In ticks since the boot: numbers of processes begin anew at some time. */
  readonly since: string;
}

export interface EndedPod {
  readonly name: string;
  readonly uid: string;
}

/** Each as `pod/container`, `pod/` for a sandbox, or by its id where nothing is known of it; mounts by their place. */
export interface Happened {
  readonly started: readonly string[];
  readonly ended: readonly string[];
  readonly unmounted: readonly string[];
}

export const NOTHING: Happened = { started: [], ended: [], unmounted: [] };

const FOLDER = "/var/lib/guest-eyes";
const TASKS = "/run/containerd/io.containerd.runtime.v2.task/k8s.io";
const PODS = "/var/lib/kubelet/pods/";
/** A container and a mount of the eyes' own, by which one knows that they see. */
const SAMPLE = "eye-sample";
const SEEN_MS = 5 * 60_000;
const EVENT = /\/tasks\/(?<what>start|exit) (?<body>\{.*\})$/;

/** Per container: its id, its first process with the time that began, and what the runtime was told it is. */
const LIST = `
cd ${TASKS}
named() { grep -o "\\"io.kubernetes.cri.$1\\":\\"[^\\"]*\\"" $id/config.json | cut -d'"' -f4 || true; }
for id in *; do
  pid=$(cat $id/init.pid 2>/dev/null) && stat=$(cat /proc/$pid/stat 2>/dev/null) || continue
  since=$(echo "\${stat##*) }" | cut -d' ' -f20)
  echo "$id $pid $since $(named sandbox-name) $(named container-name)"
done`;

/** Those that run, sandboxes too, in the order of their names. */
export async function containersIn(guest: Guest): Promise<readonly GuestContainer[]> {
  const lines = (await guest.must(LIST)).split("\n").filter((line) => line !== "");
  const found = lines.map((line): GuestContainer => {
    const [id = "", pid = "", since = "", pod = "", name = ""] = line.split(" ");
    return { id, pod, name, pid: Number(pid), since };
  });
  return found.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

const keyOf = ({ pod, name, id }: GuestContainer) => `${pod}/${name}/${id}`;

/** Every mount below the pods' folders as the kernel tells of it, its number first. */
export async function podMountsIn(guest: Guest): Promise<readonly string[]> {
  const lines = (await guest.must("cat /proc/self/mountinfo")).split("\n");
  return lines.filter((line) => line.split(" ")[4]?.startsWith(PODS) === true).toSorted();
}

export class GuestEyes {
  readonly #guest: Guest;
  readonly #names = new Map<string, string>();

  private constructor(guest: Guest) {
    this.#guest = guest;
  }

  /** From now on, until the guest boots anew or they are opened again. */
  static async open(guest: Guest): Promise<GuestEyes> {
    const note = (unit: string, command: string) =>
      `systemd-run --quiet --unit ${unit} -p StandardOutput=append:${FOLDER}/${unit} ${command}`;
    const columns = "--noheadings --raw -o ACTION,OLD-TARGET,TARGET";
    await guest.must(`
      systemctl stop eye-events eye-mounts 2>/dev/null || true
      rm -rf ${FOLDER}
      mkdir ${FOLDER}
      ${note("eye-events", "/usr/local/bin/ctr -n k8s.io events")}
      ${note("eye-mounts", `stdbuf -oL findmnt --poll=umount,move,remount ${columns}`)}`);
    const eyes = new GuestEyes(guest);
    await eyes.#learnNames();
    return eyes;
  }

  /** Since they were opened, without what became of pods that had been told to end. Fails unless they still see. */
  async happened(except: readonly EndedPod[]): Promise<Happened> {
    await this.#learnNames();
    const place = `${PODS}${SAMPLE}`;
    const isOurs = (line: string) => line.includes(SAMPLE);
    await this.#guest.must(`ctr -n k8s.io run --rm --net-host ${BUSYBOX_IMAGE} ${SAMPLE} true`);
    await waitUntil("the eyes to see", SEEN_MS, async () => {
      // What comes and goes between two looks at the table is not seen on a busy machine, and an agent may tidy up the folder.
      await this.#guest.must(
        `mkdir -p ${place}; mount -t tmpfs eyes ${place}; sleep 2; umount ${place}; rmdir ${place} || [ ! -e ${place} ]`,
      );
      const { started, ended, unmounted } = await this.#noted([]);
      return started.some(isOurs) && ended.some(isOurs) && unmounted.some(isOurs);
    });
    const { started, ended, unmounted } = await this.#noted(except);
    const others = (lines: readonly string[]) => lines.filter((line) => !isOurs(line));
    return { started: others(started), ended: others(ended), unmounted: others(unmounted) };
  }

  async #noted(except: readonly EndedPod[]): Promise<Happened> {
    const [events = "", mounts = ""] = (
      await this.#guest.must(`cd ${FOLDER}; cat eye-events; echo ---; cat eye-mounts`)
    ).split("---\n");
    const told = events.split("\n").flatMap((line) => {
      const { what, body = "{}" } = EVENT.exec(line)?.groups ?? {};
      const { container_id: container = "", id } = JSON.parse(body) as { container_id?: string; id?: string };
      // The end of a process that was started within a container carries another id.
      const isItself = what === "start" || (what === "exit" && (id === undefined || id === container));
      const name = this.#names.get(container) ?? container;
      const hasCause = except.some((pod) => name.startsWith(`${pod.name}/`));
      return isItself && !hasCause ? [{ what, name }] : [];
    });
    const those = (wanted: string) => told.filter(({ what }) => what === wanted).map(({ name }) => name);
    const unmounted = mounts
      .split("\n")
      .filter((line) => line.includes(PODS) && !except.some(({ uid }) => line.includes(uid)));
    return { started: those("start"), ended: those("exit"), unmounted };
  }

  async #learnNames(): Promise<void> {
    for (const { id, pod, name } of await containersIn(this.#guest)) this.#names.set(id, `${pod}/${name}`);
  }
}
