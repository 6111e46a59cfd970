/** A line as klog writes it: `I1114 23:16:21.123456   12345 status] "Patched" pod="default/web" attempt=2`. */
export interface Line {
  readonly ts: number;
  readonly caller: string;
  readonly msg: string;
  /** Undefined: an error. */
  readonly v?: number;
  readonly [field: string]: unknown;
}

export function klogLine({ ts, caller, msg, v, ...fields }: Line, pid: number): string {
  const parts = Object.entries(fields).map(([name, value]) => ` ${name}=${klogValue(value)}`);
  return `${v === undefined ? "E" : "I"}${klogTime(ts)} ${String(pid).padStart(7)} ${caller}] ${quote(msg)}${parts.join("")}\n`;
}

/** Local time to the microsecond. */
function klogTime(wallMs: number): string {
  const date = new Date(wallMs);
  const two = (value: number) => String(value).padStart(2, "0");
  const micros = String(Math.floor((wallMs % 1000) * 1000)).padStart(6, "0");
  const day = two(date.getMonth() + 1) + two(date.getDate());
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${micros}`;
}

const quote = (text: string) => JSON.stringify(text);

function klogValue(value: unknown): string {
  if (typeof value === "string") return value.includes("\n") ? block(value) : quote(value);
  if (value === null) return "<nil>";
  if (typeof value !== "object") return `${value as number | boolean}`;
  const reference = referenceText(value);
  return reference === undefined ? JSON.stringify(value) : quote(reference);
}

/** Text of several lines stays readable: indented, between angle brackets. */
const block = (text: string) => `<\n\t${text.replaceAll("\n", "\n\t")}\n >`;

/** An object with no fields besides `name` and `namespace` is printed as "namespace/name". */
function referenceText(value: object): string | undefined {
  const { name, namespace, ...others } = value as { readonly name?: unknown; readonly namespace?: unknown };
  if (typeof name !== "string" || Object.keys(others).length > 0) return undefined;
  if (namespace === undefined || namespace === "") return name;
  return typeof namespace === "string" ? `${namespace}/${name}` : undefined;
}
