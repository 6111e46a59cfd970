/**
 * The metric families of /metrics/cadvisor, with a row for the machine, each cgroup of pods, each pod, each sandbox and
 * each container. The labels name the owner of a row. A container's row sets all of them. A sandbox's row sets no
 * container, but has the image and the network. A pod's row sets only the pod.
 */
import type { Family, Labels, Sample } from "../../base/metrics/family.ts";
import type { GroupFamily, Tell } from "./cadvisor-family.ts";
import { GROUP_FAMILIES, PRESSURE_FAMILIES } from "./cadvisor-values.ts";
import type { StatsPod } from "./stats-pods.ts";
import { type CgroupStats, containerIdOfGroup, podUidOfGroup, type StatsReading } from "./stats-reading.ts";

export interface CadvisorInputs {
  readonly reading: StatsReading;
  readonly pods: readonly StatsPod[];
  /** The image of each sandbox; empty until the runtime has reported it. */
  readonly sandboxImages: ReadonlyMap<string, string>;
  readonly tellsPressure: boolean;
  readonly nowWallMs: number;
}

/** Sorted by name and created one at a time: all families of a hundred pods take megabytes. */
export function* containerFamilies(inputs: CadvisorInputs): Generator<Family> {
  const { reading, tellsPressure, nowWallMs } = inputs;
  const owners = ownersOf(inputs);
  const rows = reading.groups
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((group): Row => ({ group, labels: labelsOf(group, owners) }));
  const wanted = tellsPressure && reading.knowsPressure ? [...GROUP_FAMILIES, ...PRESSURE_FAMILIES] : GROUP_FAMILIES;
  for (const family of [...wanted, ...ownFamilies(nowWallMs)].toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const made = familyOf(family, family.name === SCRAPE_ERROR ? [NO_ROW] : rows, reading);
    if (made.samples.length > 0) yield made;
  }
}

const SCRAPE_ERROR = "container_scrape_error";
const NO_ROW: Row = { group: { id: "", readWallMs: 0, createdWallMs: 0 }, labels: [] };

const ownFamilies = (nowWallMs: number): readonly GroupFamily[] => [
  {
    name: "container_last_seen",
    help: "Last time a container was seen by the exporter",
    kind: "gauge",
    atWallMs: Math.floor(nowWallMs),
    tells: (_, tell) => tell(Math.floor(nowWallMs / 1000)),
  },
  {
    name: "container_start_time_seconds",
    help: "Start time of the container since unix epoch in seconds.",
    kind: "gauge",
    timeless: true,
    tells: ({ createdWallMs }, tell) => tell(Math.floor(createdWallMs / 1000)),
  },
  {
    name: SCRAPE_ERROR,
    help: "1 if there was an error while getting container metrics, 0 otherwise",
    kind: "gauge",
    timeless: true,
    tells: (_, tell) => tell(0),
  },
];

interface Row {
  readonly group: CgroupStats;
  readonly labels: Labels;
}

interface Owner {
  readonly container: string;
  readonly image: string;
  readonly name: string;
  readonly namespace: string;
  readonly pod: string;
}

const NO_OWNER: Owner = { container: "", image: "", name: "", namespace: "", pod: "" };

/** By container or sandbox ID, and by pod UID. */
function ownersOf({ pods, sandboxImages }: CadvisorInputs): ReadonlyMap<string, Owner> {
  const owners = new Map<string, Owner>();
  for (const { uid, namespace, name: pod, sandboxId, containers } of pods) {
    owners.set(uid, { ...NO_OWNER, namespace, pod });
    owners.set(sandboxId, {
      container: "",
      image: sandboxImages.get(sandboxId) ?? "",
      name: sandboxId,
      namespace,
      pod,
    });
    for (const { id, name: container, image } of containers)
      owners.set(id, { container, image, name: id, namespace, pod });
  }
  return owners;
}

function labelsOf({ id }: CgroupStats, owners: ReadonlyMap<string, Owner>): Labels {
  const owner = owners.get(containerIdOfGroup(id) ?? podUidOfGroup(id) ?? "") ?? NO_OWNER;
  return [
    ["container", owner.container],
    ["id", id],
    ["image", owner.image],
    ["name", owner.name],
    ["namespace", owner.namespace],
    ["pod", owner.pod],
  ];
}

function familyOf(family: GroupFamily, rows: readonly Row[], { mounts }: StatsReading): Family {
  const { name, help, kind, tells } = family;
  const samples: Sample[] = [];
  let [labels, at]: [Labels, number | undefined] = [[], undefined];
  const tell: Tell = (value, more) => samples.push(sampleOf(labels, more, value, at));
  for (const row of rows) {
    labels = row.labels;
    at = momentOf(family, row.group);
    tells(row.group, tell, mounts);
  }
  return { name, help, kind, samples };
}

const momentOf = ({ timeless, atWallMs }: GroupFamily, { readWallMs }: CgroupStats): number | undefined =>
  timeless === undefined ? (atWallMs ?? Math.floor(readWallMs)) : undefined;

/** There are tens of thousands of samples, so each one is created as a single object. */
function sampleOf(labels: Labels, more: Labels | undefined, value: number, atWallMs: number | undefined): Sample {
  if (atWallMs === undefined) return more === undefined ? { labels, value } : { labels, more, value };
  return more === undefined ? { labels, value, atWallMs } : { labels, more, value, atWallMs };
}
