import assert from "node:assert/strict";
import { createSocket, type Socket as NameServer } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { hostClock } from "../host/clock.ts";
import { connectTo } from "./dialing.ts";
import type { NameSources } from "./host-names.ts";

/** Answers one DNS query with 127.0.0.1, with "no such name", or not at all. */
function answerTo(question: Buffer): Buffer | undefined {
  const labels: string[] = [];
  let at = 12;
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  const name = labels.join(".");
  const isIPv4 = question.readUInt16BE(at + 1) === 1;
  if (name.startsWith("silent")) return undefined;
  const isKnown = name === "app.example" || name === "web.search.example";
  const head = Buffer.from(question.subarray(0, at + 5));
  head.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(isKnown && isIPv4 ? 1 : 0, 6);
  head.fill(0, 8, 12);
  const address = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1]);
  return isKnown && isIPv4 ? Buffer.concat([head, address]) : head;
}

describe("resolving the host names of probes", () => {
  let nameServer: NameServer;
  let application: Server;
  let directory: string;
  let names: NameSources;
  let port: number;

  before(async () => {
    nameServer = createSocket("udp4").bind(0, "127.0.0.1");
    await once(nameServer, "listening");
    nameServer.on("message", (question, { port: from, address }) => {
      const answer = answerTo(question);
      if (answer !== undefined) nameServer.send(answer, from, address);
    });
    application = createServer((socket) => socket.on("error", () => {}).end()).listen(0, "127.0.0.1");
    await once(application, "listening");
    port = (application.address() as { port: number }).port;
    directory = await mkdtemp(join(tmpdir(), "deckhand-names-"));
    names = {
      hostsFile: join(directory, "hosts"),
      resolverFile: join(directory, "resolv.conf"),
      servers: [`127.0.0.1:${nameServer.address().port}`],
    };
    await writeFile(names.hostsFile, "127.0.0.1 listed other # comment\n# 127.0.0.1 hidden\n");
    await writeFile(names.resolverFile, "nameserver 127.0.0.1\nsearch none.example search.example\n");
  });

  after(async () => {
    nameServer.close();
    application.close();
    await rm(directory, { recursive: true });
  });

  const connected = async (host: string) => {
    const socket = connectTo({ host, port }, { names });
    try {
      await once(socket, "connect");
      return "connected";
    } catch (error) {
      return (error as NodeJS.ErrnoException).code;
    } finally {
      socket.destroy();
    }
  };

  test("uses the hosts file, then the name server, with the search domains", async () => {
    assert.equal(await connected("127.0.0.1"), "connected");
    assert.equal(await connected("LISTED"), "connected");
    assert.equal(await connected("other"), "connected");
    assert.equal(await connected("app.example"), "connected");
    assert.equal(await connected("app.example."), "connected");
    assert.equal(await connected("web"), "connected");
    assert.equal(await connected("hidden"), "ENOTFOUND");
    assert.equal(await connected("web."), "ENOTFOUND");
  });

  test("50 unanswered lookups do not delay another lookup, and end with their connections", async () => {
    const silent = Array.from({ length: 50 }, (_, index) =>
      connectTo({ host: `silent-${index}.example`, port }, { names }),
    );
    const failed = silent.map(async (socket) => (await once(socket, "close"), "closed"));
    for (const socket of silent) socket.on("error", () => {});
    const beginMs = hostClock.monotonicMs();
    assert.equal(await connected("app.example"), "connected");
    // With four threads and a lookup of ten seconds in each, it would wait for minutes.
    assert.ok(hostClock.monotonicMs() - beginMs < 1_000, `${hostClock.monotonicMs() - beginMs} ms`);
    for (const socket of silent) socket.destroy();
    assert.deepEqual(new Set(await Promise.all(failed)), new Set(["closed"]));
  });
});
