/** Has a container's image on the node before the container is made, as its pull policy says. */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import type { Image, ImageSpec } from "../../domain/runtime/image.ts";
import type { SandboxConfig } from "../../domain/runtime/sandbox.ts";
import { isRuntimeError } from "../../ports/runtime-error.ts";
import type { PodState } from "./pod-state.ts";
import { StartFailure } from "./start-failure.ts";
import type { PodWorkerPorts } from "./worker-options.ts";

export interface PresentImage {
  readonly ref: string;
  readonly image: Image | undefined;
}

type Tell = (type: "Normal" | "Warning", reason: string, message: string) => void;

const BACKOFF_MS_MIN = 10_000;
const BACKOFF_MS_MAX = 300_000;

export async function ensureImage(
  pod: Pod,
  container: Container,
  sandbox: SandboxConfig,
  state: PodState,
  { images, clock }: Pick<PodWorkerPorts, "images" | "clock">,
  tell: Tell,
  signal: AbortSignal,
): Promise<PresentImage> {
  const name = container.image ?? "";
  const spec = { image: name, annotations: { ...pod.metadata?.annotations } };
  const policy = container.imagePullPolicy ?? "IfNotPresent";
  const present = await inspect(spec, images, tell, signal);
  if (present !== undefined && policy !== "Always") {
    tell("Normal", "Pulled", `Container image "${name}" already present on machine and can be accessed by the pod`);
    return { ref: present.id, image: present };
  }
  if (policy === "Never") {
    const message = `Container image "${name}" is not present with pull policy of Never`;
    tell("Warning", "ErrImageNeverPull", message);
    throw new StartFailure("ErrImageNeverPull", message);
  }
  const trouble = state.pulls.get(name);
  const leftMs = trouble === undefined ? 0 : trouble.failedMonotonicMs + trouble.delayMs - clock.monotonicMs();
  if (trouble !== undefined && leftMs > 0) {
    const message = `Back-off pulling image "${name}": ${trouble.message}`;
    tell("Normal", "BackOff", `Back-off pulling image "${name}"`);
    throw new StartFailure("ImagePullBackOff", message, leftMs);
  }
  return pull(spec, sandbox, state, { images, clock }, tell, signal);
}

async function inspect(
  spec: ImageSpec,
  images: PodWorkerPorts["images"],
  tell: Tell,
  signal: AbortSignal,
): Promise<Image | undefined> {
  try {
    return await images.imageStatus(spec, signal);
  } catch (error) {
    if (!isRuntimeError(error)) throw error;
    const message = `Failed to inspect image "${spec.image}": ${error.message}`;
    tell("Warning", "InspectFailed", message);
    throw new StartFailure("ImageInspectError", message);
  }
}

async function pull(
  spec: ImageSpec,
  sandbox: SandboxConfig,
  state: PodState,
  { images, clock }: Pick<PodWorkerPorts, "images" | "clock">,
  tell: Tell,
  signal: AbortSignal,
): Promise<PresentImage> {
  const name = spec.image;
  tell("Normal", "Pulling", `Pulling image "${name}"`);
  const startedMs = clock.monotonicMs();
  try {
    const ref = await images.pullImage(spec, { sandbox }, signal);
    const seconds = ((clock.monotonicMs() - startedMs) / 1000).toFixed(3);
    const image = await images.imageStatus(spec, signal);
    state.pulls.delete(name);
    tell(
      "Normal",
      "Pulled",
      `Successfully pulled image "${name}" in ${seconds}s (${seconds}s including waiting). Image size: ${image?.sizeBytes ?? 0n} bytes.`,
    );
    return { ref, image };
  } catch (error) {
    if (!isRuntimeError(error)) throw error;
    const before = state.pulls.get(name);
    const delayMs = before === undefined ? BACKOFF_MS_MIN : Math.min(before.delayMs * 2, BACKOFF_MS_MAX);
    const message = `ErrImagePull: ${error.message}`;
    state.pulls.set(name, { delayMs, failedMonotonicMs: clock.monotonicMs(), message });
    tell("Warning", "Failed", `Failed to pull image "${name}": ${error.message}`);
    throw new StartFailure("ErrImagePull", error.message, delayMs);
  }
}
