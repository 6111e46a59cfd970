/**
 * The workload of a node whose agent is replaced or killed, or which is rebooted. It covers every kind of local volume,
 * tokens, subPaths, probes of each kind, init containers and sidecars, all QoS classes, and static pods. Each container
 * records its start in a file of the guest, independently of any kubelet.
 */
import type { Container, Pod, PodSpec } from "../../src/api/gen/core-v1.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import type { Guest } from "../guest/guest.ts";
import { STAY } from "./cluster-pods.ts";
import { type GuestNode, MANIFESTS, SLOW_MS } from "./joined-guest.ts";
import { lastingPod, NODE } from "./survival-world.ts";
import { CONFIG_MAP, diskOf, sharedOf, type VolumeHost, volumeObjects, volumePod } from "./volume-pods.ts";

/** The guest as the host of the volumes. */
const HOST: VolumeHost = { name: NODE, directory: "/srv" };
const RECORD = "/srv/record";
const STATIC_UID = "5c1e0f5e-2d0b-4f4f-9b60-6f0d4f2f0a11";

/** Under emulation any response may take seconds. */
const PATIENT = { timeoutSeconds: 60, failureThreshold: 5 };

/** A container that records its start, runs `first`, and stays until SIGTERM. */
function staying(pod: string, name = "app", first = ":"): Container {
  return {
    name,
    image: BUSYBOX_IMAGE,
    command: ["sh", "-c", `${noted(pod, name)}; ${first}; ${STAY}`],
    volumeMounts: [{ name: "record", mountPath: "/record" }],
  };
}

const noted = (pod: string, name: string) => `echo began >> /record/${pod}.${name}`;
const recorded = { volumes: [{ name: "record", hostPath: { path: RECORD, type: "DirectoryOrCreate" } }] } as const;

const PROBED: Partial<Container> = {
  ports: [{ containerPort: 8080, name: "web" }],
  startupProbe: { tcpSocket: { port: "web" }, periodSeconds: 2, timeoutSeconds: 60, failureThreshold: 60 },
  readinessProbe: { httpGet: { path: "/ready", port: "web" }, periodSeconds: 5, ...PATIENT },
  livenessProbe: { exec: { command: ["cat", "/www/ready"] }, periodSeconds: 20, ...PATIENT },
};
const SERVES = "mkdir -p /www; echo yes > /www/ready; httpd -p 8080 -h /www";

/** Specs by pod name; each of these pods becomes and stays Ready. */
export const SPECS: Readonly<Record<string, Partial<PodSpec>>> = {
  volumes: withRecord("volumes", volumePod(HOST, "volumes")),
  probed: { ...recorded, containers: [{ ...staying("probed", "app", SERVES), ...PROBED }] },
  sidecars: {
    ...recorded,
    initContainers: [
      { ...staying("sidecars", "first"), command: ["sh", "-c", noted("sidecars", "first")] },
      { ...staying("sidecars", "proxy", SERVES), ...PROBED, restartPolicy: "Always" },
    ],
    containers: [staying("sidecars")],
  },
  burstable: {
    ...recorded,
    containers: [
      { ...staying("burstable"), resources: { requests: { cpu: "10m", memory: "16Mi" } } },
      { ...staying("burstable", "second"), resources: { limits: { memory: "64Mi" } } },
    ],
  },
  guaranteed: {
    ...recorded,
    hostNetwork: true,
    containers: [{ ...staying("guaranteed"), resources: { limits: { cpu: "100m", memory: "32Mi" } } }],
  },
};

function withRecord(pod: string, spec: Partial<PodSpec>): Partial<PodSpec> {
  const containers = (spec.containers ?? []).map((container) => ({
    ...container,
    command: ["sh", "-c", `${noted(pod, container.name)}\n${container.command?.at(-1) ?? ""}`],
    volumeMounts: [...(container.volumeMounts ?? []), { name: "record", mountPath: "/record" }],
  }));
  return { ...spec, containers, volumes: [...(spec.volumes ?? []), ...recorded.volumes] };
}

const finishedPod = (name: string): Pod =>
  lastingPod(name, {
    ...recorded,
    restartPolicy: "Never",
    containers: [{ ...staying(name), command: ["sh", "-c", `${noted(name, "app")}; exit 0`] }],
  });

export const oncePod = (name: string): Pod =>
  lastingPod(name, { ...recorded, restartPolicy: "Never", containers: [staying(name)] });

/** On SIGTERM the container records `asked`, waits for `mayEnd`, records `ended`, and exits with 0. */
export function slowlyEndingPod(name: string): Pod {
  const end = `echo asked >> /record/${name}.asked; until [ -e /record/may-end-${name} ]; do sleep 1; done; echo ended >> /record/${name}.ended; exit 0`;
  const script = `${noted(name, "app")}; trap '${end}' TERM; while :; do sleep 1000 & wait; done`;
  return lastingPod(name, {
    terminationGracePeriodSeconds: 3600,
    volumes: [
      ...recorded.volumes,
      { name: "memory", emptyDir: { medium: "Memory" } },
      { name: "config", configMap: { name: CONFIG_MAP } },
    ],
    containers: [
      {
        ...staying(name),
        command: ["sh", "-c", script],
        volumeMounts: [
          { name: "record", mountPath: "/record" },
          { name: "memory", mountPath: "/memory" },
          { name: "config", mountPath: "/one", subPath: "first" },
        ],
      },
    ],
  });
}

/** Names of the mirror pods at the API server. The manifest of the second static pod sets its UID. */
export const STATIC_PODS = ["own", "given"].map((name) => `${name}-${NODE}`);

function manifest(name: string, uid?: string): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", ...(uid === undefined ? {} : { uid }) },
    spec: {
      ...recorded,
      hostNetwork: true,
      containers: [
        { ...staying(name), readinessProbe: { exec: { command: ["true"] }, periodSeconds: 20, ...PATIENT } },
      ],
    },
  };
}

/** Creates directories and manifests in the guest; call once before a kubelet starts. */
export async function prepare(guest: Guest): Promise<void> {
  const disk = diskOf(HOST, "volumes");
  await guest.must(`mkdir -p ${RECORD} ${disk} ${sharedOf(HOST)}; echo from the node > ${sharedOf(HOST)}/note`);
  await guest.put({
    [`${MANIFESTS}/own.json`]: { content: JSON.stringify(manifest("own")) },
    [`${MANIFESTS}/given.json`]: { content: JSON.stringify(manifest("given", STATIC_UID)) },
  });
}

/**
 * Starts the pods one after the other: all at once they would take an emulated machine longer than a kubelet waits for
 * its runtime.
 */
export async function startWorkload(node: GuestNode): Promise<void> {
  await node.apply(...volumeObjects(HOST, ["volumes"]));
  for (const [name, spec] of Object.entries(SPECS)) {
    await node.apply(lastingPod(name, spec));
    await node.pods.running(name, SLOW_MS);
  }
  await node.apply(finishedPod("finished"));
  await node.pods.first("finished", "has succeeded", ({ status }) => status?.phase === "Succeeded", SLOW_MS);
  for (const name of STATIC_PODS) await node.pods.running(name, SLOW_MS);
}

/**
 * Number of starts of each container, by `pod.container`; records of a slowly ending pod likewise, as `pod.asked` and
 * `pod.ended`.
 */
export async function begun(guest: Guest): Promise<Readonly<Record<string, number>>> {
  const lines = (await guest.must(`cd ${RECORD}; wc -l *.* | grep -v total`)).trim().split("\n");
  return Object.fromEntries(
    lines.map((line) => {
      const [count = "", name = ""] = line.trim().split(/\s+/);
      return [name, Number(count)];
    }),
  );
}

export const mayEnd = (guest: Guest, name: string) => guest.must(`touch ${RECORD}/may-end-${name}`);
