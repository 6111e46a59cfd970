import assert from "node:assert/strict";
import { test } from "node:test";
import { socketPaths } from "./address.ts";

void test("socketPaths lists the unix sockets of a D-Bus address in order", () => {
  assert.deepEqual(socketPaths("unix:path=/run/dbus/system_bus_socket"), ["/run/dbus/system_bus_socket"]);
  assert.deepEqual(socketPaths("tcp:host=h,port=1;unix:abstract=/a%2cb,guid=12;unix:guid=3,path=/x"), ["\0/a,b", "/x"]);
  assert.deepEqual(socketPaths("unixexec:path=/bin/ssh"), []);
});
