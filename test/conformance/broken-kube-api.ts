/** The API server client for `broken-agent.ts`: it answers a write of a pod's status as if the write had been made. */
import type { ApiServer } from "../../src/ports/api-server.ts";
import { createKubeApi as createSound, type KubeApi, type KubeApiOptions } from "../../src/wire/kube-api/client.ts";

export type { KubeApi, KubeApiOptions };

export function createKubeApi(options: KubeApiOptions): KubeApi {
  const sound = createSound(options);
  const patch: ApiServer["patch"] = (resource, name, change, writeOptions, signal) =>
    resource.plural === "pods" && writeOptions.subresource === "status"
      ? sound.get(resource, name, signal)
      : sound.patch(resource, name, change, writeOptions, signal);
  return new Proxy(sound, { get: (target, key) => (key === "patch" ? patch : bound(target, key)) });
}

function bound(target: KubeApi, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key, target);
  return typeof value === "function" ? (value as (...args: unknown[]) => unknown).bind(target) : value;
}
