/** Signal names: the Kubernetes API writes "SIGRTMIN+3" where CRI's enum says SIGRTMINPLUS3. */
import { RuntimeError } from "../../ports/runtime-error.ts";
import { Signal } from "./gen/api_pb.js";
import { Malformed } from "./parse.ts";

const apiName = (criName: string) => criName.replace("PLUS", "+").replace("MINUS", "-");

const numbers: ReadonlyMap<string, Signal> = new Map(
  Object.entries(Signal)
    .filter((entry): entry is [string, Signal] => typeof entry[1] === "number" && entry[1] !== Signal.RUNTIME_DEFAULT)
    .map(([name, number]) => [apiName(name), number]),
);
const names: ReadonlyMap<number, string> = new Map([...numbers].map(([name, number]) => [number, name]));

/** An absent name selects the runtime's default. */
export function toSignal(name: string | undefined): Signal {
  if (name === undefined) return Signal.RUNTIME_DEFAULT;
  const signal = numbers.get(name);
  if (signal === undefined) throw new RuntimeError("CreateContainer", "invalidArgument", `unknown stop signal ${name}`);
  return signal;
}

export function fromSignal(signal: number): string | undefined {
  const name = names.get(signal);
  if (name === undefined && signal !== 0) throw new Malformed(`stop signal has the unknown value ${signal}`);
  return name;
}
