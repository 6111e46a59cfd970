/** Attaches network cards to a running guest: one to the host, others to switches that connect guests. */
import { randomBytes } from "node:crypto";
import { createServer } from "node:net";
import type { EthernetSwitch } from "./pieces/ethernet-switch.ts";
import type { Qmp } from "./pieces/qmp.ts";

/** A server on the host, and the address at which a guest reaches it (in 10.0.2.0/24). */
export interface Reach {
  readonly guest: { readonly address: string; readonly port: number };
  readonly host: { readonly address: string; readonly port: number };
}

export interface NetworkUser {
  readonly qmp: Qmp;
  /** Rejects when the script fails. */
  readonly must: (script: string) => Promise<string>;
}

/** The guest's address on its card to the host. */
const GUEST_ADDRESS = "10.0.2.15";
const HOST_CARD = "host";
const FREE_PORT_TRIES = 5;

/**
 * Attaches the card to the host. Through it a guest reaches what `reaches` names, and nothing else of the host or
 * beyond.
 */
export async function plugHostCard(user: NetworkUser, reaches: readonly Reach[]): Promise<void> {
  const guestfwd = reaches.map(({ guest, host }) => ({
    str: `tcp:${guest.address}:${guest.port}-cmd:socat - TCP:${host.address}:${host.port}`,
  }));
  await user.qmp.execute("netdev_add", { type: "user", id: HOST_CARD, restrict: true, ipv6: false, guestfwd });
  await plugCard(user, HOST_CARD, [`ip address replace ${GUEST_ADDRESS}/24 dev $card`, "ip link set $card up"]);
}

export async function hasHostCard(qmp: Qmp): Promise<boolean> {
  return (await qmp.human("info network")).includes(`${HOST_CARD}: index=`);
}

/** Attaches a card to a switch. `address` includes the length of the network's prefix. */
export async function plugSwitchCard(user: NetworkUser, to: EthernetSwitch, address: string): Promise<void> {
  const id = `card${randomBytes(4).toString("hex")}`;
  await user.qmp.execute("netdev_add", { type: "stream", id, server: false, addr: { type: "unix", path: to.path } });
  await plugCard(user, id, [`ip address replace ${address} dev $card`, "ip link set $card up"]);
}

/** Attaches a card and runs the steps. The steps are stored in the guest, for its next boot. */
async function plugCard({ qmp, must }: NetworkUser, id: string, steps: readonly string[]): Promise<void> {
  const mac = ["52", "54", "00", ...(randomBytes(3).toString("hex").match(/../g) ?? [])].join(":");
  await qmp.execute("device_add", { driver: "virtio-net-pci", id: `${id}-device`, netdev: id, mac });
  const script = [
    `until card=$(grep -lsx ${mac} /sys/class/net/*/address); do sleep 0.05; done`,
    "card=$(basename $(dirname $card))",
    ...steps,
  ];
  const file = `/etc/deckhand-network/${id}`;
  await must(
    `mkdir -p ${file.slice(0, file.lastIndexOf("/"))}\ncat > ${file} <<'END'\n${script.join("\n")}\nEND\nsh -e ${file}`,
  );
}

/**
 * Returns a port of the host's loopback that is forwarded to the guest's port. The card to the host must be attached.
 */
export async function forwardPort(qmp: Qmp, guestPort: number): Promise<number> {
  let trouble = "";
  for (let turn = 0; turn < FREE_PORT_TRIES; turn += 1) {
    // Another process may bind the port before qemu does.
    const port = await freePort();
    trouble = (await qmp.human(`hostfwd_add ${HOST_CARD} tcp:127.0.0.1:${port}-${GUEST_ADDRESS}:${guestPort}`)).trim();
    if (trouble === "") return port;
  }
  throw new Error(`qemu does not forward to the guest's port ${guestPort}: ${trouble}`);
}

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}
