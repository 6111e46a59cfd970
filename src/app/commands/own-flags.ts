/**
 * Separates a command's own flags from the kubelet's flags on one command line. The kubelet has no flags of these
 * names, so a command's own flags may stand anywhere.
 */

export const OUTPUT = { "-o": "output", "--output": "output" } as const;

/** `names`: what the command calls the value, by the spelling of the flag. The value of a flag without one is "". */
export function takeOwnFlags<Name extends string>(
  args: readonly string[],
  names: Readonly<Record<string, Name>>,
): { readonly own: ReadonlyMap<Name, string>; readonly rest: readonly string[] } {
  const own = new Map<Name, string>();
  const rest: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    const equals = arg.indexOf("=");
    const spelled = equals === -1 ? arg : arg.slice(0, equals);
    const name = Object.hasOwn(names, spelled) ? names[spelled] : undefined;
    if (name === undefined) rest.push(arg);
    else if (equals !== -1) own.set(name, arg.slice(equals + 1));
    else {
      at += 1;
      own.set(name, args[at] ?? "");
    }
  }
  return { own, rest };
}

export type OutputFormat = "text" | "json";

export const isOutputFormat = (text: string): text is OutputFormat => text === "text" || text === "json";

export const outputFault = (text: string): string => `--output is text or json, not ${text}`;
