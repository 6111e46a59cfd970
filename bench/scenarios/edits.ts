/**
 * Measures the time from the edit of a ConfigMap to the new file in the pods that mount it (B8). The file is read on
 * the node, through the symlink that an edit swaps. inotify reports changes of the directory, so that waiting costs the
 * machine nothing.
 */
import { watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { configMaps } from "../../src/api/resources.ts";
import { pause } from "../../test/cluster/wait.ts";
import { upAll } from "../kubelet-driver.ts";
import type { Outcome, Stage } from "../pod-driver.ts";
import type { Size } from "../sizes.ts";
import { median, quantile } from "../statistics.ts";
import { editedSpec, unlessThere } from "../volume-fixtures.ts";
import { type Agent, forever, type World } from "../world.ts";

/** The number of pods that mount one ConfigMap. */
const PODS_EACH = 20;
/** The Go kubelet syncs each pod about once in 60 to 90 seconds. */
const EDIT_LIMIT_MS = 200_000;

export async function edits({ world, driver, label }: Stage, size: Size): Promise<Outcome> {
  const { agent } = driver;
  if (agent === undefined) throw new Error("only an agent mounts ConfigMaps");
  const { api, namespace } = world;
  const groups = groupsOf(label, size.editedPods);
  for (const { configMap } of groups)
    await unlessThere(
      api.create(configMaps, { metadata: { namespace, name: configMap }, data: { value: "0" } }, forever),
    );
  for (const { configMap, names } of groups) await upAll(world, names, editedSpec(configMap));
  await pause(size.settleMs);
  const times: number[] = [];
  for (let round = 1; round <= size.edits; round += 1) {
    const seen = groups.map(async ({ configMap, names }) => {
      // Edits start at random moments, so that they do not align with a poll.
      await pause(Math.random() * 1_000);
      return edit({ world, agent }, configMap, names, String(round));
    });
    for (const each of await Promise.all(seen)) times.push(...each);
  }
  await Promise.all(groups.flatMap(({ names }) => names.map((name) => driver.down(name))));
  await driver.tidy();
  return {
    figures: [
      { benchmark: "B8", name: "edit to file p50", unit: "ms", value: median(times), samples: times },
      { benchmark: "B8", name: "edit to file p99", unit: "ms", value: quantile(times, 0.99) },
    ],
  };
}

const groupsOf = (label: string, count: number) =>
  Array.from({ length: Math.ceil(count / PODS_EACH) }, (_, group) => ({
    configMap: `${label}-edited-${group}`,
    names: Array.from(
      { length: Math.min(PODS_EACH, count - group * PODS_EACH) },
      (_, index) => `${label}-edited-${group}-${index}`,
    ),
  }));

interface AgentOfWorld {
  readonly world: World;
  readonly agent: Agent;
}

async function edit(
  { world, agent }: AgentOfWorld,
  configMap: string,
  names: readonly string[],
  value: string,
): Promise<readonly number[]> {
  const waits = names.map((name) => shows(volumeOf({ world, agent }, name), value));
  const sinceMs = performance.now();
  const body = { data: { value } };
  await world.api.patch(
    configMaps,
    { namespace: world.namespace, name: configMap },
    { kind: "merge", body },
    {},
    forever,
  );
  return (await Promise.all(waits)).map((atMs) => atMs - sinceMs);
}

function volumeOf({ world: { node, watcher }, agent: { rootDirectory } }: AgentOfWorld, name: string): string {
  const uid = watcher.history(name).at(-1)?.pod.metadata?.uid ?? "";
  return node.inside(`${rootDirectory}/pods/${uid}/volumes/kubernetes.io~configmap/config`);
}

/** Resolves when the file first has this value. */
function shows(directory: string, value: string): Promise<number> {
  const file = join(directory, "value");
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      clearTimeout(limit);
      watching.close();
      settle();
    };
    const look = () => {
      readFile(file, "utf8").then(
        (text) => {
          if (text === value) end(() => resolve(performance.now()));
        },
        (error: unknown) => end(() => reject(error)),
      );
    };
    const watching = watch(directory, look);
    const limit = setTimeout(() => end(() => reject(new Error(`${file} never became ${value}`))), EDIT_LIMIT_MS);
  });
}
