/** Parses Linux CPU lists such as "0-3,8". */
import { goQuote } from "./go-text.ts";

/** No machine has more CPUs. A range beyond this is a mistake and would only cost memory. */
const CPU_MAX = 65_535;

/** Returns the CPU numbers, or Go's error text for an invalid list. */
export function parseCpuSet(text: string): ReadonlySet<number> | string {
  const cpus = new Set<number>();
  for (const range of text === "" ? [] : text.split(",")) {
    const [first = "", last = first] = range.split(/-(.*)/s);
    const wrong = [first, last].find((bound) => !/^[-+]?[0-9]+$/.test(bound));
    if (wrong !== undefined) return `strconv.Atoi: parsing ${goQuote(wrong)}: invalid syntax`;
    const [start, end] = [Number(first), Number(last)];
    if (start > end) return `invalid range ${goQuote(range)} (${start} > ${end})`;
    if (end > CPU_MAX) return `CPU ${end} is beyond ${CPU_MAX}`;
    for (let cpu = start; cpu <= end; cpu += 1) cpus.add(cpu);
  }
  return cpus;
}
