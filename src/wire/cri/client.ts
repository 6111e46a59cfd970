/** The Runtime and Images ports over CRI v1. */
import type { Clock } from "../../ports/clock.ts";
import type { Images } from "../../ports/images.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Tracer } from "../../ports/tracer.ts";
import { openGrpcChannel } from "../grpc/grpc-channel.ts";
import { tracedChannel } from "../grpc/traced-channel.ts";
import { CRI_MESSAGE_BYTES_MAX } from "../limits.ts";
import type { Caller } from "./caller.ts";
import { containerEvents } from "./container-events.ts";
import { runtimeContainers } from "./containers.ts";
import { imageStore } from "./images.ts";
import { runtimeSelf } from "./runtime-self.ts";
import { runtimeSandboxes } from "./sandboxes.ts";
import { runtimeStats } from "./stats.ts";
import { runtimeStreams } from "./streams.ts";

export interface CriOptions {
  /** "unix:///run/containerd/containerd.sock" */
  readonly endpoint: string;
  /** The endpoint of the image service; defaults to `endpoint`. */
  readonly imageEndpoint?: string;
  /** The deadline of a call: the kubelet's runtimeRequestTimeout; defaults to two minutes. */
  readonly requestLimitMs?: number;
  /** Use the streaming list calls if the runtime implements them (feature gate CRIListStreaming). */
  readonly streamLists?: boolean;
  /** Maximum number of container events that wait for their reader. */
  readonly eventsMax?: number;
  /** Undefined: calls are not traced. */
  readonly tracer?: Tracer;
  /** Called for every item that is left out because it is malformed. */
  readonly onMalformed: (detail: string) => void;
}

export interface CriClient {
  readonly runtime: Runtime;
  readonly images: Images;
  /** Cancels calls in progress; every later call fails with "unavailable". */
  close(): void;
}

function open(endpoint: string, tracer: Tracer | undefined) {
  const channel = openGrpcChannel({ endpoint, messageBytesMax: CRI_MESSAGE_BYTES_MAX });
  return tracer === undefined ? channel : tracedChannel(channel, tracer, endpoint.replace(/^unix:(\/\/)?/, ""));
}

export function connectCri(options: CriOptions, clock: Clock): CriClient {
  const { endpoint, imageEndpoint = endpoint, requestLimitMs = 120_000, streamLists = false, onMalformed } = options;
  const channel = open(endpoint, options.tracer);
  const imageChannel = imageEndpoint === endpoint ? channel : open(imageEndpoint, options.tracer);
  const caller: Caller = { channel, clock, requestLimitMs, streamLists, unaryOnly: new Set(), onMalformed };
  return {
    runtime: {
      ...runtimeSelf(caller),
      ...runtimeSandboxes(caller),
      ...runtimeContainers(caller),
      ...runtimeStreams(caller),
      ...runtimeStats(caller),
      events: containerEvents(caller, options.eventsMax ?? 4096),
    },
    images: imageStore({ ...caller, channel: imageChannel }),
    close: () => {
      channel.close();
      imageChannel.close();
    },
  };
}
