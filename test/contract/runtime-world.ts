/**
 * What the contract suites of the Runtime and Images ports need of the world they run in. A real runtime and a fake one provide
 * the same, so the cases can use nothing else.
 */
import type { TestContext } from "node:test";
import type { ContainerConfig, ContainerState, ContainerStatus } from "../../src/domain/runtime/container.ts";
import type { RegistryCredentials } from "../../src/domain/runtime/image.ts";
import type { SandboxConfig } from "../../src/domain/runtime/sandbox.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Images } from "../../src/ports/images.ts";
import type { Runtime } from "../../src/ports/runtime.ts";
import type { RuntimeErrorCode } from "../../src/ports/runtime-error.ts";

/** What a container or a command in it does. The world knows how to say it to its runtime. */
export type Program =
  /** Runs until SIGTERM, then ends with `code`. */
  | { readonly kind: "untilTerm"; readonly code: number }
  /** Runs until SIGKILL. */
  | { readonly kind: "untilKill" }
  | { readonly kind: "exit"; readonly code: number }
  | { readonly kind: "exitAfter"; readonly delayMs: number; readonly code: number }
  /** Ends itself by SIGKILL. */
  | { readonly kind: "killSelf" }
  /** Ends by SIGUSR1 with 42, and by nothing else but SIGKILL. */
  | { readonly kind: "untilUsr1" }
  /** Writes to both streams and ends. */
  | { readonly kind: "print"; readonly stdout: string; readonly stderr: string; readonly code: number }
  /** Writes all 256 values of a byte and ends. */
  | { readonly kind: "printAllBytes" }
  /** Writes a line now and then until SIGTERM. */
  | { readonly kind: "tick" }
  /** Prints the variable and ends. */
  | { readonly kind: "printVariable"; readonly name: string }
  /** Takes memory until something stops it. */
  | { readonly kind: "eatMemory" }
  | { readonly kind: "missing" };

export interface RuntimeWorld {
  readonly runtime: Runtime;
  readonly images: Images;
  readonly clock: Clock;
  /** Lets time go by. */
  pass(delayMs: number): Promise<void>;
  /** A config that was never used: new name, uid and log directory, and a cgroup of its own. */
  sandboxConfig(): SandboxConfig;
  command(program: Program): readonly string[];
  /** An image that is there and can run every `Program`. */
  readonly image: string;
  /** A second runtime handler, besides the default one "". */
  readonly otherHandler: string;
  readonly registry: {
    /** An image, not there at first, in a registry that asks for nothing. Nothing else uses it. */
    readonly open: string;
    /** The same in a registry that wants `credentials`. */
    readonly guarded: string;
    readonly credentials: Required<Pick<RegistryCredentials, "username" | "password">>;
    /** A registry that is not there. */
    readonly unreachable: string;
  };
  /** Another client of the same runtime, with a deadline of its own. */
  connect(options: { readonly requestLimitMs: number }): {
    readonly runtime: Runtime;
    readonly images: Images;
    close(): void;
  };
  readLog(path: string): Promise<string>;
  renameLog(from: string, to: string): Promise<void>;
  /** The memory limit the kernel holds a container to. */
  memoryLimitBytes(sandbox: SandboxConfig, containerId: string): Promise<bigint>;
  /** The runtime dies; containers live on. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** The runtime stops answering, and goes on. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  end(): Promise<void>;
}

/** For calls whose caller never gives up. */
export const patient: AbortSignal = new AbortController().signal;

export interface SandboxInUse {
  readonly id: string;
  readonly config: SandboxConfig;
}

/** A running sandbox that goes with the test. */
export async function runSandbox(
  world: RuntimeWorld,
  t: TestContext,
  changes: Partial<SandboxConfig> = {},
): Promise<SandboxInUse> {
  const config = { ...world.sandboxConfig(), ...changes };
  const id = await world.runtime.runSandbox(config, "", patient);
  t.after(async () => {
    await world.runtime.stopSandbox(id, patient);
    await world.runtime.removeSandbox(id, patient);
  });
  return { id, config };
}

export function containerConfig(
  world: RuntimeWorld,
  name: string,
  program: Program,
  changes: Partial<ContainerConfig> = {},
): ContainerConfig {
  return {
    metadata: { name, attempt: 0 },
    image: { image: world.image },
    command: world.command(program),
    logPath: `${name}.log`,
    ...changes,
  };
}

export async function createContainer(
  world: RuntimeWorld,
  sandbox: SandboxInUse,
  name: string,
  program: Program,
  changes: Partial<ContainerConfig> = {},
): Promise<string> {
  const config = containerConfig(world, name, program, changes);
  return world.runtime.createContainer(sandbox.id, config, sandbox.config, patient);
}

export async function startContainer(
  world: RuntimeWorld,
  sandbox: SandboxInUse,
  name: string,
  program: Program,
  changes: Partial<ContainerConfig> = {},
): Promise<string> {
  const id = await createContainer(world, sandbox, name, program, changes);
  await world.runtime.startContainer(id, patient);
  return id;
}

export async function statusOf(world: RuntimeWorld, id: string): Promise<ContainerStatus> {
  return (await world.runtime.containerStatus(id, { verbose: false }, patient)).status;
}

/** Waits until the container has ended, and answers with how. */
export async function ended(world: RuntimeWorld, id: string): Promise<ContainerStatus> {
  return reached(world, id, "exited");
}

async function reached(world: RuntimeWorld, id: string, state: ContainerState): Promise<ContainerStatus> {
  let status = await statusOf(world, id);
  await eventually(world, `container ${id} to be ${state}`, async () => {
    status = await statusOf(world, id);
    return status.state === state;
  });
  return status;
}

const WAIT_MS_MAX = 20_000;

export async function eventually(world: RuntimeWorld, what: string, done: () => Promise<boolean>): Promise<void> {
  const endMs = world.clock.monotonicMs() + WAIT_MS_MAX;
  while (!(await done())) {
    if (world.clock.monotonicMs() > endMs) throw new Error(`waited ${WAIT_MS_MAX} ms in vain for ${what}`);
    await world.pass(20);
  }
}

/** Waits until the runtime answers, as any caller would: by asking. */
export async function answers(world: RuntimeWorld, runtime = world.runtime): Promise<void> {
  const asked = () =>
    runtime.version(patient).then(
      () => true,
      () => false,
    );
  await eventually(world, "the runtime to answer", asked);
}

/** How long `run` took by the world's clock. */
export async function took(world: RuntimeWorld, run: () => Promise<unknown>): Promise<number> {
  const startMs = world.clock.monotonicMs();
  await run();
  return world.clock.monotonicMs() - startMs;
}

/** For `assert.rejects`: a RuntimeError with this code and operation. */
export const failure = (operation: string, code: RuntimeErrorCode) => ({ name: "RuntimeError", operation, code });
