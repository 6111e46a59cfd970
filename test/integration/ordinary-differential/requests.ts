/** What the runtime was told of a pod: sandboxes, containers and pulls, each distinct message once and in the order they came. */
import type { CriCall } from "../../cluster/cri-proxy.ts";
import { podUidOfCall } from "../../support/cri-log.ts";
import { textOf } from "./container-view.ts";

const METHODS = ["RunPodSandbox", "CreateContainer", "PullImage"] as const;
export type Requests = Readonly<Record<(typeof METHODS)[number], readonly unknown[]>>;

/** What is a set in the messages stands in order. */
const SETS = {
  // The Go kubelet takes the variables, and a resolver's options, out of a map, so their order is another each time.
  envs: (one: { readonly key: string }) => one.key,
  options: (one: string) => one,
  hugepageLimits: (one: { readonly pageSize: string }) => one.pageSize,
} as const;

export function requestsOf(calls: readonly CriCall[], uid: string, neutral: (value: unknown) => unknown): Requests {
  const told = (method: string) => {
    const texts = calls
      .filter((call) => call.method === method && podUidOfCall(call) === uid)
      .map(({ request }) => JSON.stringify(inOrder(neutral(withoutBytes(request)))));
    return [...new Set(texts)].map((text): unknown => JSON.parse(text));
  };
  return {
    RunPodSandbox: told("RunPodSandbox"),
    CreateContainer: told("CreateContainer"),
    PullImage: told("PullImage"),
  };
}

/** Bytes as what they say, and numbers of 64 bits as text. */
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
