/**
 * The environment of the Runtime and Images contract suites. Real and fake runtimes provide the same one, so the cases
 * can use nothing else.
 */
import type { TestContext } from "node:test";
import type { ContainerConfig, ContainerState, ContainerStatus } from "../../src/domain/runtime/container.ts";
import type { RegistryCredentials } from "../../src/domain/runtime/image.ts";
import type { SandboxConfig } from "../../src/domain/runtime/sandbox.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Images } from "../../src/ports/images.ts";
import type { Runtime } from "../../src/ports/runtime.ts";
import type { RuntimeErrorCode } from "../../src/ports/runtime-error.ts";

/** What a container or a command in it does. `RuntimeWorld.command` translates it for the runtime. */
export type Program =
  /** Runs until SIGTERM, then exits with `code`. */
  | { readonly kind: "untilTerm"; readonly code: number }
  /** Runs until SIGKILL. */
  | { readonly kind: "untilKill" }
  | { readonly kind: "exit"; readonly code: number }
  | { readonly kind: "exitAfter"; readonly delayMs: number; readonly code: number }
  /** Kills itself with SIGKILL. */
  | { readonly kind: "killSelf" }
  /** Exits with 42 on SIGUSR1; of all other signals, only SIGKILL ends it. */
  | { readonly kind: "untilUsr1" }
  /** Writes to both streams and exits. */
  | { readonly kind: "print"; readonly stdout: string; readonly stderr: string; readonly code: number }
  /** Writes all 256 byte values and exits. */
  | { readonly kind: "printAllBytes" }
  /** Writes a line periodically until SIGTERM. */
  | { readonly kind: "tick" }
  /** Prints the environment variable and exits. */
  | { readonly kind: "printVariable"; readonly name: string }
  /** Allocates memory until it is killed. */
  | { readonly kind: "eatMemory" }
  | { readonly kind: "missing" };

export interface RuntimeWorld {
  readonly runtime: Runtime;
  readonly images: Images;
  readonly clock: Clock;
  /** Waits, or advances a virtual clock. */
  pass(delayMs: number): Promise<void>;
  /** An unused config: new name, UID and log directory, and its own cgroup. */
  sandboxConfig(): SandboxConfig;
  command(program: Program): readonly string[];
  /** An image that is present and can run every `Program`. */
  readonly image: string;
  /** A second runtime handler, besides the default one "". */
  readonly otherHandler: string;
  readonly registry: {
    /** An image, absent at first, in a registry without authentication. Nothing else uses it. */
    readonly open: string;
    /** The same image in a registry that requires `credentials`. */
    readonly guarded: string;
    readonly credentials: Required<Pick<RegistryCredentials, "username" | "password">>;
    /** An image in a registry that is unreachable. */
    readonly unreachable: string;
  };
  /** Another client of the same runtime, with its own deadline. */
  connect(options: { readonly requestLimitMs: number }): {
    readonly runtime: Runtime;
    readonly images: Images;
    close(): void;
  };
  readLog(path: string): Promise<string>;
  renameLog(from: string, to: string): Promise<void>;
  /** The memory limit that the kernel enforces on a container. */
  memoryLimitBytes(sandbox: SandboxConfig, containerId: string): Promise<bigint>;
  /** Kills the runtime; its containers keep running. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Makes the runtime stop answering until `resume`. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  end(): Promise<void>;
}

/** Never aborted. */
export const patient: AbortSignal = new AbortController().signal;

export interface SandboxInUse {
  readonly id: string;
  readonly config: SandboxConfig;
}

/** Runs a sandbox, and stops and removes it after the test. */
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

/** Waits until the container has exited, and returns its status. */
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

/** Waits until the runtime answers a call to `version`. */
export async function answers(world: RuntimeWorld, runtime = world.runtime): Promise<void> {
  const asked = () =>
    runtime.version(patient).then(
      () => true,
      () => false,
    );
  await eventually(world, "the runtime to answer", asked);
}

/** How many milliseconds `run` took on the world's clock. */
export async function took(world: RuntimeWorld, run: () => Promise<unknown>): Promise<number> {
  const startMs = world.clock.monotonicMs();
  await run();
  return world.clock.monotonicMs() - startMs;
}

/** For `assert.rejects`: a RuntimeError with this code and operation. */
export const failure = (operation: string, code: RuntimeErrorCode) => ({ name: "RuntimeError", operation, code });
