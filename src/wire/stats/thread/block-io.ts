/** Parses a cgroup's device I/O, in the two formats of the kernel. */
import type { BlockDeviceStats } from "../../../domain/stats/stats-reading.ts";
import type { DeviceNames } from "./devices.ts";

type ByOperation = Record<string, number>;

interface Device {
  readonly major: number;
  readonly minor: number;
  readonly bytes: ByOperation;
  readonly requests: ByOperation;
}

/** v1: lines "8:0 Read 4096". Totals that name no device are ignored. */
export function parseBlockIo(requests: string, bytes: string, names: DeviceNames): readonly BlockDeviceStats[] {
  const devices = new Map<string, Device>();
  for (const [text, kind] of [
    [requests, "requests"],
    [bytes, "bytes"],
  ] as const) {
    for (const line of text.split("\n")) {
      const [numbers = "", operation = "", value = ""] = line.split(" ");
      if (numbers.includes(":") && /^\d+$/.test(value)) deviceIn(devices, numbers)[kind][operation] = Number(value);
    }
  }
  return named(devices, names);
}

const OF_UNIFIED: Readonly<Record<string, readonly ["bytes" | "requests", string]>> = {
  rbytes: ["bytes", "Read"],
  wbytes: ["bytes", "Write"],
  rios: ["requests", "Read"],
  wios: ["requests", "Write"],
};

/** v2: lines "8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0". */
export function parseUnifiedIo(text: string, names: DeviceNames): readonly BlockDeviceStats[] {
  const devices = new Map<string, Device>();
  for (const line of text.split("\n")) {
    const [numbers = "", ...fields] = line.split(" ");
    if (!/^\d+:\d+$/.test(numbers)) continue;
    for (const field of fields) {
      const [key = "", value = ""] = field.split("=");
      const place = OF_UNIFIED[key];
      if (place !== undefined) deviceIn(devices, numbers)[place[0]][place[1]] = Number(value);
    }
  }
  return named(devices, names);
}

function deviceIn(devices: Map<string, Device>, numbers: string): Device {
  const known = devices.get(numbers);
  if (known !== undefined) return known;
  const [major = 0, minor = 0] = numbers.split(":").map(Number);
  const device: Device = { major, minor, bytes: {}, requests: {} };
  devices.set(numbers, device);
  return device;
}

const named = (devices: ReadonlyMap<string, Device>, names: DeviceNames): readonly BlockDeviceStats[] =>
  [...devices.values()].map((device) => ({ ...device, device: names.nameOf(device.major, device.minor) }));
