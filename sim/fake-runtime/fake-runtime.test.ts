/** Runs the contracts of containerd behind wire/cri against the fake runtime, in virtual time. */
import { assertNever } from "../../src/base/assert.ts";
import { imagesContract } from "../../test/contract/images-contract.ts";
import { runtimeContract } from "../../test/contract/runtime-contract.ts";
import type { Program, RuntimeWorld } from "../../test/contract/runtime-world.ts";
import { DemandDriver } from "../demand-driver.ts";
import { directoryOf, nameOf } from "../fake-disk.ts";
import { FakeFiles } from "../fake-files.ts";
import { PortCalls } from "../port-calls.ts";
import { SeededRandom } from "../seeded-random.ts";
import { Trace } from "../trace.ts";
import { VirtualClock } from "../virtual-clock.ts";
import { diskLogs } from "../world-files.ts";
import { type Behaviour, scripted } from "./behaviour.ts";
import { FakeRuntime, type FakeRuntimeClient } from "./fake-runtime.ts";
import { FakeRegistry } from "./registry.ts";

const IMAGE = "registry.k8s.io/e2e-test-images/busybox:1.37.0-1";
const OPEN = "open.example:5000/e2e-test-images/agnhost:2.63.0";
const GUARDED = "guarded.example:5000/e2e-test-images/agnhost:2.63.0";
const CREDENTIALS = { username: "user", password: "secret" };

function fakeWorld(latencyMs: number): RuntimeWorld {
  const clock = new VirtualClock();
  const driver = new DemandDriver(clock);
  const random = new SeededRandom("runtime contract");
  const trace = new Trace();
  const files = new FakeFiles({ clock });
  const registry = new FakeRegistry();
  registry.add(OPEN);
  registry.add(GUARDED);
  registry.guard("guarded.example:5000", CREDENTIALS.username, CREDENTIALS.password);
  const runtime = new FakeRuntime(
    { clock, random: random.split("runtime"), trace, name: "n1", logs: diskLogs(files) },
    registry,
  );
  runtime.images.load(IMAGE);
  const spread = latencyMs > 0 ? { latencyMs: () => random.fraction() * latencyMs } : {};
  const life = new PortCalls({ clock, trace, random: random.split("calls"), ...spread }).begin("contract", 1);
  const driven = (client: FakeRuntimeClient) => ({
    runtime: driver.drive(client.runtime),
    images: driver.drive(client.images),
    close: () => client.close(),
  });
  let made = 0;
  return {
    ...driven(runtime.connect(life)),
    clock,
    pass: (delayMs) => driver.pass(delayMs),
    sandboxConfig: () => {
      made += 1;
      const name = `contract-${made}`;
      const metadata = { name, namespace: "default", uid: `uid-${name}`, attempt: 0 };
      return { metadata, hostname: name, logDirectory: `/var/log/pods/${name}`, cgroupParent: `/kubepods/${name}` };
    },
    command: (program) => scripted(behaviourOf(program)),
    image: IMAGE,
    otherHandler: "test-handler",
    registry: { open: OPEN, guarded: GUARDED, credentials: CREDENTIALS, unreachable: "127.0.0.1:1/nobody/listens:1" },
    connect: (options) => driven(runtime.connect(life, options)),
    readLog: async (path) => new TextDecoder().decode(await files.port.read(path, 2 ** 20)),
    renameLog: async (from, to) => {
      const directory = files.disk.directory(directoryOf(from)) ?? files.disk.root;
      const file = directory.entries.get(nameOf(from));
      directory.entries.delete(nameOf(from));
      if (file !== undefined) directory.entries.set(nameOf(to), file);
    },
    memoryLimitBytes: async (_sandbox, id) => runtime.containers.get(id)?.resources?.memoryLimitBytes ?? -1n,
    kill: async () => runtime.kill(),
    restart: async () => runtime.restart(),
    pause: async () => runtime.pause(),
    resume: async () => runtime.resume(),
    end: async () => {},
  };
}

function behaviourOf(program: Program): Behaviour {
  switch (program.kind) {
    case "untilTerm":
      return { onSignal: { SIGTERM: { afterMs: 0, code: program.code } } };
    case "untilKill":
      return {};
    case "untilUsr1":
      return { onSignal: { SIGUSR1: { afterMs: 0, code: 42 } } };
    case "exit":
      return { exit: { afterMs: 0, code: program.code } };
    case "exitAfter":
      return { exit: { afterMs: program.delayMs, code: program.code } };
    case "killSelf":
      return { exit: { afterMs: 0, code: 137 } };
    case "print":
      return { stdout: program.stdout, stderr: program.stderr, exit: { afterMs: 0, code: program.code } };
    case "printAllBytes":
      return { stdout: Array.from({ length: 256 }, (_, byte) => byte), exit: { afterMs: 0, code: 0 } };
    case "printVariable":
      return { printVariable: program.name, exit: { afterMs: 0, code: 0 } };
    case "tick":
      return { tickEveryMs: 50, onSignal: { SIGTERM: { afterMs: 0, code: 0 } } };
    case "eatMemory":
      return { memoryBytes: 200_000_000 };
    case "missing":
      return { cannotStart: "exec: no such file or directory" };
    default:
      return assertNever(program);
  }
}

for (const [name, latencyMs] of [
  ["the fake runtime", 0],
  ["the fake runtime behind a slow connection", 20],
] as const) {
  runtimeContract(name, async () => fakeWorld(latencyMs));
  imagesContract(name, async () => fakeWorld(latencyMs));
}
