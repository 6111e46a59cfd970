/** Connects to systemd: over the machine's bus, or for root over systemd's private socket if there is no bus. */
import { errorText } from "../../base/error-text.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import type { Clock } from "../../ports/clock.ts";
import { socketPaths } from "../dbus/address.ts";
import { connectDbus, type DbusConnection, type DbusOptions } from "../dbus/connection.ts";

const SYSTEM_BUS = "unix:path=/var/run/dbus/system_bus_socket";
const PRIVATE_SOCKET = "/run/systemd/private";
/** A bus that hangs accepts connections and sends nothing. */
const PLACE_MS_MAX = 5_000;

export async function connectSystemd(clock: Clock, signal: AbortSignal): Promise<DbusConnection> {
  const address = process.env["DBUS_SYSTEM_BUS_ADDRESS"] ?? SYSTEM_BUS;
  const buses = socketPaths(address).map((socketPath) => ({ socketPath, isBus: true }));
  const own = process.getuid?.() === 0 ? [{ socketPath: PRIVATE_SOCKET, isBus: false }] : [];
  return firstOf([...buses, ...own], clock, signal);
}

/** The first that accepts us, each within its time limit. */
export async function firstOf(
  places: readonly DbusOptions[],
  clock: Clock,
  signal: AbortSignal,
): Promise<DbusConnection> {
  const troubles: unknown[] = [];
  for (const place of places) {
    try {
      return await withDeadline(clock, PLACE_MS_MAX, signal, (limited) => connectDbus(place, limited));
    } catch (error) {
      signal.throwIfAborted();
      troubles.push(error);
    }
  }
  throw new AggregateError(troubles, troubles.map(errorText).join("; "));
}
