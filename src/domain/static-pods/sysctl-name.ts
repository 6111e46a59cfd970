/** `net/ipv4/x` and `net.ipv4.x` name the same sysctl; in the first form, dots are part of a name. */
export function dottedSysctl(name: string): string {
  const first = name.search(/[./]/);
  return first < 0 || name[first] === "." ? name : name.replaceAll(/[./]/g, (c) => (c === "/" ? "." : "/"));
}
