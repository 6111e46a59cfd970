/** The network between guests, and between a guest and its host. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { waitUntil } from "../cluster/wait.ts";
import { resumeGuest } from "./guests.ts";
import { EthernetSwitch } from "./pieces/ethernet-switch.ts";

/** Answers each connection with one line. */
const SERVER = "systemd-run --quiet --unit answers socat TCP-LISTEN:8080,fork,reuseaddr SYSTEM:'echo from $(hostname)'";

describe("the network of a guest", () => {
  test("two guests communicate in a private network", async () => {
    const directory = await mkdtemp(join(tmpdir(), "deckhand-guest-net-"));
    const network = await EthernetSwitch.open(join(directory, "switch.sock"));
    try {
      await using one = await resumeGuest({ hostname: "one" });
      await using two = await resumeGuest({ hostname: "two" });
      await one.join(network, "10.77.0.1/24");
      await two.join(network, "10.77.0.2/24");
      assert.match(await one.must("ping -c 3 -W 20 10.77.0.2"), / 0% packet loss/);
      assert.match(await two.must("ping -c 3 -W 20 10.77.0.1"), / 0% packet loss/);
      await two.must(SERVER);
      const ask = "until socat -u TCP:10.77.0.2:8080 -; do sleep 0.5; done";
      assert.equal(await one.must(`${ask} 2>/dev/null`), "from two\n");
      await two.must(
        "systemctl stop answers; head -c 3000000 /dev/zero > /root/zero; systemd-run --quiet socat -u OPEN:/root/zero TCP-LISTEN:8081,reuseaddr",
      );
      assert.equal(
        await one.must("until socat -u TCP:10.77.0.2:8081 - 2>/dev/null; do sleep 0.5; done | wc -c"),
        "3000000\n",
      );
    } finally {
      await network.close();
      await rm(directory, { recursive: true });
    }
  });

  test("the host reaches a port of the guest; the guest reaches only the host's ports named to it", async () => {
    const answering = await listen("from the host");
    const hidden = await listen("not for guests");
    try {
      await using guest = await resumeGuest({ hostname: "reached" });
      await guest.reach({
        guest: { address: "10.0.2.100", port: 6443 },
        host: { address: "127.0.0.1", port: portOf(answering) },
      });
      const ask = (address: string, port: number) =>
        `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | timeout 10 socat -t 10 - TCP:${address}:${port}`;
      for (let turn = 0; turn < 2; turn += 1) {
        assert.match(await guest.must(ask("10.0.2.100", 6443)), /from the host/);
      }
      assert.notEqual((await guest.run(ask("10.0.2.2", portOf(hidden)))).code, 0);
      await guest.must(SERVER);
      const port = await guest.hostPort(8080);
      await waitUntil("the guest to answer", 60_000, async () => (await readAll(port)) === "from reached\n", 500);
    } finally {
      for (const server of [answering, hidden]) server.close();
    }
  });
});

async function listen(answer: string): Promise<Server> {
  const server = createServer((_, response) => response.end(answer));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

function readAll(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let said = "";
    socket.setTimeout(20_000, () => socket.destroy(new Error("no answer")));
    socket.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    socket.once("error", reject);
    socket.once("close", () => resolve(said));
  });
}
