/**
 * Lists the ledger rows that pods under both the Go kubelet and Deckhand demonstrate in one run. Each such row needs a
 * pod that gets as far as its author wants, and one that does not. Rows that no pod demonstrates are listed below with
 * the reason.
 */
import { IDENTITY_CASES } from "./admission-differential/cases/identity.ts";
import { CLASS_CASES, SYSCTL_CASES } from "./admission-differential/cases/kernel.ts";
import { PRESSURE_CASES, ROOM_CASES, WITHOUT_FEATURES_CASES } from "./admission-differential/cases/room.ts";
import { type Case, failing } from "./ordinary-differential/case.ts";
import { CLAIM_CASES } from "./ordinary-differential/cases/claims.ts";
import {
  ENVIRONMENT_CASES,
  WITHOUT_CLUSTER_DNS,
  WITHOUT_RESOLVER_FILE,
} from "./ordinary-differential/cases/environment.ts";
import { FILE_CASES, LIVE_CASES, PATIENT_CASES } from "./ordinary-differential/cases/files.ts";
import { IMAGE_CASES, OVER_THE_LIMIT } from "./ordinary-differential/cases/images.ts";
import { VOLUME_CASES } from "./ordinary-differential/cases/volumes.ts";
import { CASES as PROBE_CASES } from "./probes/cases.ts";
import { CASES as RESIZE_CASES } from "./resize/cases.ts";
import { isRestarted, CASES as RESTART_CASES } from "./restart-differential/cases.ts";
import { CASES as ROLE_CASES } from "./roles-differential/cases.ts";

type Comes = "far" | "short";

interface Shown {
  readonly name: string;
  readonly rows: readonly string[];
  readonly comes: Comes;
}

const ofCase = (one: Case): Shown => ({ name: one.name, rows: one.rows, comes: failing(one) ? "short" : "far" });

export const SHOWN: readonly Shown[] = [
  ...[...LIVE_CASES, ...PATIENT_CASES, ...VOLUME_CASES, ...CLAIM_CASES, ...FILE_CASES].map(ofCase),
  ...[...ENVIRONMENT_CASES, ...WITHOUT_CLUSTER_DNS, ...WITHOUT_RESOLVER_FILE].map(ofCase),
  ...[...IMAGE_CASES, ...OVER_THE_LIMIT].map(ofCase),
  ...[...IDENTITY_CASES, ...SYSCTL_CASES, ...CLASS_CASES].map(ofCase),
  ...[...ROOM_CASES, ...WITHOUT_FEATURES_CASES, ...PRESSURE_CASES].map(ofCase),
  ...Object.entries(ROLE_CASES).map(
    ([name, { rows, until, ends }]): Shown => ({ name, rows, comes: ends === "badly" ? "short" : until.comes }),
  ),
  ...PROBE_CASES.map(({ name, rows, what }): Shown => ({ name, rows, comes: what === "was ready" ? "far" : "short" })),
  ...Object.entries(RESIZE_CASES).map(
    ([name, { rows, ending }]): Shown => ({ name, rows, comes: ending === "done" ? "far" : "short" }),
  ),
  ...RESTART_CASES.map(
    (one): Shown => ({
      name: `${one.policy}-${one.end}`,
      rows: isRestarted(one) ? ["7.10", "7.13", "7.18"] : ["7.10", "11.1"],
      comes: one.end === "exit0" ? "far" : "short",
    }),
  ),
];

/** Rows that none of these pods demonstrates, or only in one of the two ways, and the reason. */
export const NOT_BY_PODS: Readonly<Record<string, { readonly lacks: Comes | "both"; readonly why: string }>> = {
  "5.5": { lacks: "both", why: "it takes three pods: admission-differential, pods that are in each other's way" },
  "5.11": { lacks: "both", why: "no node shuts down yet (18.1)" },
  "5.13": { lacks: "both", why: "about agents that change: admission-differential, resize" },
  "6.1": { lacks: "both", why: "about what happens within the agent: way-of-a-pod, and the simulator" },
  "6.2": { lacks: "both", why: "about a node without a network: way-of-a-pod" },
  "6.3": {
    lacks: "both",
    why: "times between tries: restart-differential for back-offs, the simulator for the others",
  },
  "6.7": { lacks: "both", why: "about pods that nobody knows: way-of-a-pod" },
  "6.8": { lacks: "both", why: "about manifests: static-pods" },
  "6.9": { lacks: "both", why: "about who ends for another: admission-differential" },
  "6.11": { lacks: "both", why: "about what pods of the past left: way-of-a-pod, orphans" },
  "6.12": { lacks: "both", why: "about what pods of the past left: way-of-a-pod" },
  "7.2": { lacks: "both", why: "about sandboxes that are lost: way-of-a-pod, and reboot under both agents" },
  "7.3": { lacks: "both", why: "about a restart of the machine: reboot, under both agents" },
  "7.16": { lacks: "both", why: "a gate that is off; both refuse alike what the API server does not take" },
  "7.19": { lacks: "both", why: "about containers that the runtime lost: way-of-a-pod" },
  "7.20": { lacks: "both", why: "added to pods that run: roles-differential, containers to look in with" },
  "7.22": { lacks: "both", why: "about files of the node: way-of-a-pod" },
  "7.23": { lacks: "both", why: "about files of the node: way-of-a-pod; compared as trees in ordinary-differential" },
  "7.24": { lacks: "both", why: "about what is kept of pods that ended: way-of-a-pod" },
  "7.30": { lacks: "both", why: "about a disk that takes nothing: static-pods" },
  "8.6": { lacks: "both", why: "figures, compared in resize" },
  "11.2": { lacks: "both", why: "how the API server is asked: api-wire, way-of-a-pod" },
  "11.12": { lacks: "both", why: "about agents that come back: probes" },
  "11.13": { lacks: "both", why: "about manifests: static-pods" },
  "12.8": { lacks: "both", why: "the requests to the runtime are compared in probes" },
  "12.9": { lacks: "both", why: "a pod that ends while it is asked, under both in probes" },
  "12.10": { lacks: "both", why: "figures, compared in probes" },
  "25.10": { lacks: "both", why: "this kernel has no huge pages to give; exact messages" },
  "27.1.15": { lacks: "short", why: "a pod that cannot have users of its own has no such file" },
  "27.1.27": { lacks: "both", why: "files of the node, compared in resize" },
  "27.2.4": { lacks: "both", why: "files of the node, compared in resize" },
};
