/**
 * Continuously records in a guest, independently of its kubelet, what happens to its containers and mounts:
 * containerd's events, and every unmount, move and remount. Never queries a kubelet.
 */
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { waitUntil } from "../cluster/wait.ts";
import type { Guest } from "../guest/guest.ts";

export interface GuestContainer {
  readonly id: string;
  readonly pod: string;
  /** Empty for a sandbox. */
  readonly name: string;
  readonly pid: number;
  /** Start time in clock ticks since boot: the kernel reuses PIDs. */
  readonly since: string;
}

export interface EndedPod {
  readonly name: string;
  readonly uid: string;
}

/** Containers as `pod/container`, sandboxes as `pod/`, unknown ones by id. Mounts as findmnt's line with their path. */
export interface Happened {
  readonly started: readonly string[];
  readonly ended: readonly string[];
  readonly unmounted: readonly string[];
}

export const NOTHING: Happened = { started: [], ended: [], unmounted: [] };

const DIRECTORY = "/var/lib/guest-recorder";
const TASKS = "/run/containerd/io.containerd.runtime.v2.task/k8s.io";
const PODS = "/var/lib/kubelet/pods/";
/** The name of a container and a mount that the recorder creates itself, to check that it still records. */
const SAMPLE = "recorder-sample";
const SEEN_MS = 5 * 60_000;
const EVENT = /\/tasks\/(?<what>start|exit) (?<body>\{.*\})$/;

/**
 * One line per container: id, PID and start time of its first process, and pod and container name from the runtime's
 * annotations.
 */
const LIST = `
cd ${TASKS}
named() { grep -o "\\"io.kubernetes.cri.$1\\":\\"[^\\"]*\\"" $id/config.json | cut -d'"' -f4 || true; }
for id in *; do
  pid=$(cat $id/init.pid 2>/dev/null) && stat=$(cat /proc/$pid/stat 2>/dev/null) || continue
  since=$(echo "\${stat##*) }" | cut -d' ' -f20)
  echo "$id $pid $since $(named sandbox-name) $(named container-name)"
done`;

/** The running containers and sandboxes, sorted by name. */
export async function containersIn(guest: Guest): Promise<readonly GuestContainer[]> {
  const lines = (await guest.must(LIST)).split("\n").filter((line) => line !== "");
  const found = lines.map((line): GuestContainer => {
    const [id = "", pid = "", since = "", pod = "", name = ""] = line.split(" ");
    return { id, pod, name, pid: Number(pid), since };
  });
  return found.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

const keyOf = ({ pod, name, id }: GuestContainer) => `${pod}/${name}/${id}`;

/** The mountinfo lines of all mounts below the pods' directory; each line begins with the mount id. */
export async function podMountsIn(guest: Guest): Promise<readonly string[]> {
  const lines = (await guest.must("cat /proc/self/mountinfo")).split("\n");
  return lines.filter((line) => line.split(" ")[4]?.startsWith(PODS) === true).toSorted();
}

export class GuestRecorder {
  readonly #guest: Guest;
  readonly #names = new Map<string, string>();

  private constructor(guest: Guest) {
    this.#guest = guest;
  }

  /** Starts recording. Recording ends when the guest reboots or `open` is called again. */
  static async open(guest: Guest): Promise<GuestRecorder> {
    const note = (unit: string, command: string) =>
      `systemd-run --quiet --unit ${unit} -p StandardOutput=append:${DIRECTORY}/${unit} ${command}`;
    const columns = "--noheadings --raw -o ACTION,OLD-TARGET,TARGET";
    await guest.must(`
      systemctl stop recorder-events recorder-mounts 2>/dev/null || true
      rm -rf ${DIRECTORY}
      mkdir ${DIRECTORY}
      ${note("recorder-events", "/usr/local/bin/ctr -n k8s.io events")}
      ${note("recorder-mounts", `stdbuf -oL findmnt --poll=umount,move,remount ${columns}`)}`);
    const recorder = new GuestRecorder(guest);
    await recorder.#learnNames();
    return recorder;
  }

  /**
   * Everything recorded since `open`, except events of the pods in `except`, which were asked to terminate. Fails
   * unless the recorder still works.
   */
  async happened(except: readonly EndedPod[]): Promise<Happened> {
    await this.#learnNames();
    const path = `${PODS}${SAMPLE}`;
    const isOurs = (line: string) => line.includes(SAMPLE);
    await this.#guest.must(`ctr -n k8s.io run --rm --net-host ${BUSYBOX_IMAGE} ${SAMPLE} true`);
    await waitUntil("the recorder to see its sample", SEEN_MS, async () => {
      // On a busy machine, findmnt misses a mount that comes and goes between two reads of the mount table. An agent
      // may remove the directory.
      await this.#guest.must(
        `mkdir -p ${path}; mount -t tmpfs none ${path}; sleep 2; umount ${path}; rmdir ${path} || [ ! -e ${path} ]`,
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
      await this.#guest.must(`cd ${DIRECTORY}; cat recorder-events; echo ---; cat recorder-mounts`)
    ).split("---\n");
    const reported = events.split("\n").flatMap((line) => {
      const { what, body = "{}" } = EVENT.exec(line)?.groups ?? {};
      const { container_id: container = "", id } = JSON.parse(body) as { container_id?: string; id?: string };
      // The exit of a process that was exec'd in a container carries another id.
      const isItself = what === "start" || (what === "exit" && (id === undefined || id === container));
      const name = this.#names.get(container) ?? container;
      const hasCause = except.some((pod) => name.startsWith(`${pod.name}/`));
      return isItself && !hasCause ? [{ what, name }] : [];
    });
    const those = (wanted: string) => reported.filter(({ what }) => what === wanted).map(({ name }) => name);
    const unmounted = mounts
      .split("\n")
      .filter((line) => line.includes(PODS) && !except.some(({ uid }) => line.includes(uid)));
    return { started: those("start"), ended: those("exit"), unmounted };
  }

  async #learnNames(): Promise<void> {
    for (const { id, pod, name } of await containersIn(this.#guest)) this.#names.set(id, `${pod}/${name}`);
  }
}
