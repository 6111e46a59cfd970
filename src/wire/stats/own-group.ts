/** Parses the cgroup of a process from the text of /proc/<pid>/cgroup. */

/** On v1, systemd's path. CPU and memory must be accounted in the same cgroup; undefined if they are not. */
export function parseOwnGroup(text: string): string | undefined {
  const groups = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, controllers = "", ...path] = line.split(":");
    if (path.length === 0) continue;
    for (const controller of controllers.split(",")) groups.set(controller, path.join(":"));
  }
  if (!groups.has("cpu")) return groups.get("");
  const [cpu, memory] = [groups.get("cpu"), groups.get("memory")];
  if (cpu !== memory) return undefined;
  return groups.get("name=systemd") ?? cpu;
}
