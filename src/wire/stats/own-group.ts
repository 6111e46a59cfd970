/** Which group a process is in, from the text of /proc/<pid>/cgroup. */

/** Of v1 what systemd says, and CPU and memory must be counted in one place; undefined where they are not. */
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
