/**
 * The requests to the runtime for a pod: sandboxes, containers and pulls, each distinct message once, in order of
 * arrival.
 */
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { containerHash } from "../../../src/domain/container-config/container-hash.ts";
import { oomScoreAdj } from "../../../src/domain/resources/oom-score.ts";
import type { CreateContainerRequest } from "../../../src/wire/cri/gen/api_pb.js";
import type { CriCall } from "../../cluster/cri-proxy.ts";
import { podUidOfCall } from "../../support/cri-log.ts";
import { textOf } from "./container-view.ts";

const METHODS = ["RunPodSandbox", "CreateContainer", "PullImage"] as const;
export type Requests = Readonly<Record<(typeof METHODS)[number], readonly unknown[]>>;

/** Fields that are sets are sorted. */
const SETS = {
  // The Go kubelet reads the variables, and a resolver's options, from a map, so their order changes each time.
  envs: (one: { readonly key: string }) => one.key,
  options: (one: string) => one,
  hugepageLimits: (one: { readonly pageSize: string }) => one.pageSize,
} as const;

interface Requested {
  readonly calls: readonly CriCall[];
  readonly pod: Pod;
  readonly memoryCapacityBytes: bigint;
  readonly neutral: (value: unknown) => unknown;
}

export function requestsOf({ calls, pod, memoryCapacityBytes, neutral }: Requested): Requests {
  const requested = (method: string) => {
    const texts = calls
      .filter((call) => call.method === method && podUidOfCall(call) === pod.metadata?.uid)
      .map(({ request }) => (method === "CreateContainer" ? underived(request, pod, memoryCapacityBytes) : request))
      .map((request) => JSON.stringify(inOrder(neutral(withoutBytes(request)))));
    return [...new Set(texts)].map((text): unknown => JSON.parse(text));
  };
  return {
    RunPodSandbox: requested("RunPodSandbox"),
    CreateContainer: requested("CreateContainer"),
    PullImage: requested("PullImage"),
  };
}

const HASH = "io.kubernetes.container.hash";

/**
 * Replaces two values with placeholders if they follow from the pod's spec. The hash follows from the image's name,
 * which contains the address of the cluster's registry; the score follows from the size of the machine's memory.
 */
function underived(request: unknown, pod: Pod, memoryCapacityBytes: bigint): unknown {
  const { config, ...others } = request as CreateContainerRequest;
  const all = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  const container = all.find(({ name }) => name === config?.metadata?.name);
  if (config === undefined || container === undefined) return request;
  const { [HASH]: hash, ...annotations } = config.annotations;
  const resources = config.linux?.resources;
  const score = BigInt(oomScoreAdj(pod, container, memoryCapacityBytes));
  return {
    ...others,
    config: {
      ...config,
      annotations: { ...annotations, [HASH]: hash === containerHash(container) ? "<hash of the spec>" : hash },
      linux: {
        ...config.linux,
        resources: {
          ...resources,
          oomScoreAdj: resources?.oomScoreAdj === score ? "<by the spec>" : resources?.oomScoreAdj,
        },
      },
    },
  };
}

/** Bytes as their text, and 64-bit numbers as strings. */
function withoutBytes(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Uint8Array) return textOf(Buffer.from(value));
  if (Array.isArray(value)) return value.map(withoutBytes);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutBytes(item)]));
}

function inOrder(value: unknown, field = ""): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => inOrder(item));
    if (!Object.hasOwn(SETS, field)) return items;
    const key = SETS[field as keyof typeof SETS] as (item: unknown) => string;
    return items.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, inOrder(item, name)]));
}
