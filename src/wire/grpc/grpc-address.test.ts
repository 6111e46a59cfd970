import assert from "node:assert/strict";
import { test } from "node:test";
import { authorityOf, type GrpcAddress, parseGrpcAddress } from "./grpc-address.ts";

const socket = (path: string): GrpcAddress => ({ kind: "socket", path });
const tcp = (host: string, port: number, nameServer = ""): GrpcAddress => ({ kind: "tcp", host, port, nameServer });

for (const [endpoint, address, authority] of [
  ["unix:///run/c.sock", socket("/run/c.sock"), "localhost"],
  ["unix:/run/c.sock", socket("/run/c.sock"), "localhost"],
  ["unix-abstract:name", socket("\0name"), "localhost"],
  ["unix-abstract:///name", socket("\0/name"), "localhost"],
  ["localhost:4317", tcp("localhost", 4317), "localhost:4317"],
  ["dns:collector:4317", tcp("collector", 4317), "collector:4317"],
  ["dns:///collector.example:4317", tcp("collector.example", 4317), "collector.example:4317"],
  ["dns://198.18.0.53/collector:4317", tcp("collector", 4317, "198.18.0.53"), "collector:4317"],
  ["collector", tcp("collector", 443), "collector:443"],
  ["[::1]:4317", tcp("::1", 4317), "[::1]:4317"],
  ["::1", tcp("::1", 443), "[::1]:443"],
] as const) {
  test(`parses the gRPC address ${endpoint}`, () => {
    assert.deepEqual(parseGrpcAddress(endpoint), address);
    assert.equal(authorityOf(address), authority);
  });
}

for (const endpoint of [
  "",
  "unix:",
  "unix://",
  "unix://host/path",
  "unix-abstract:",
  "localhost:x",
  "localhost:70000",
]) {
  test(`rejects "${endpoint}" as a gRPC address`, () =>
    assert.throws(() => parseGrpcAddress(endpoint), /not (an|the) address/));
}
