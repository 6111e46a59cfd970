import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Interfaces } from "./interfaces.ts";
import { KernelFiles } from "./kernel-files.ts";

const trie = (...addresses: readonly string[]) =>
  addresses.map((address) => `           |-- ${address}\n              /32 host LOCAL\n`).join("");

test("interfaces are read again only when an address that a node can use was added or removed", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "deckhand-interfaces-"));
  t.after(() => rmSync(root, { recursive: true }));
  const write = (file: string, content: string) => writeFileSync(join(root, "proc/net", file), content);
  mkdirSync(join(root, "proc/net"), { recursive: true });
  let asked = 0;
  const interfaces = new Interfaces(new KernelFiles(root), () => {
    asked += 1;
    return [{ interfaceName: "eth0", address: `192.0.2.${asked}`, family: "IPv4" }];
  });
  const after = async () => [(await interfaces.read())[0]?.address, asked];

  assert.deepEqual(await after(), ["192.0.2.1", 1]);
  assert.deepEqual(await after(), ["192.0.2.2", 2], "without tables every time");
  write("fib_trie", trie("127.0.0.1", "192.0.2.2"));
  assert.deepEqual(await after(), ["192.0.2.3", 3]);
  write("if_inet6", "fe80000000000000e83137fffe6b847a 129 40 20 80 veth1\n");
  assert.deepEqual(await after(), ["192.0.2.3", 3], "a pod's link");
  write("fib_trie", `${trie("192.0.2.2", "127.0.0.1")}           |-- 192.0.2.255\n              /32 link BROADCAST\n`);
  assert.deepEqual(await after(), ["192.0.2.3", 3], "the same in another order");
  write("fib_trie", trie("127.0.0.1", "192.0.2.2", "192.0.2.9"));
  assert.deepEqual(await after(), ["192.0.2.4", 4]);
  write("if_inet6", "fd000000000000000000000000000002 04 40 00 82     eth0\n");
  assert.deepEqual(await after(), ["192.0.2.5", 5]);
});
