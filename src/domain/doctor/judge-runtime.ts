/** The runtime, and the network that it gives to pods. */
import type { NetworkSeen, RuntimeSeen } from "./facts.ts";
import { type Findings, finding, seenOf, unseen } from "./finding.ts";

export function* judgeRuntime(runtime: RuntimeSeen, network: NetworkSeen): Findings {
  const { endpoint, answer, imageTrouble } = runtime;
  if (imageTrouble !== undefined)
    yield finding("image-service-unreachable", `${imageTrouble.endpoint}: ${imageTrouble.why}`);
  if (answer.kind === "silent") return yield finding("runtime-unreachable", `${endpoint}: ${answer.why}`);
  if (answer.kind === "stranger") return yield finding("runtime-without-cri", `${endpoint}: ${answer.why}`);
  const { name, version, apiVersion } = answer.version;
  // Where its configuration lies is for the runtime to say: of one that does not answer nothing is said.
  const networkFindings = [...judgeNetwork(network, name)];
  yield* networkFindings;
  if (apiVersion !== "v1")
    return yield finding("runtime-without-cri", `${name} ${version} at ${endpoint} speaks CRI ${apiVersion}`);
  const oldest = OLDEST[name];
  if (oldest !== undefined && isOlder(version, oldest))
    yield finding("runtime-old", `${name} ${version} answers at ${endpoint}`);
  yield* unseen({ "the runtime's state": runtime.conditions });
  for (const { type, status, reason, message } of seenOf(runtime.conditions) ?? []) {
    if (status) continue;
    const seen = `${name} says ${type} is false: ${[reason, message].filter((text) => text !== "").join(": ")}`;
    if (type === "RuntimeReady") yield finding("runtime-not-ready", seen);
    // What is wrong with its configuration was told already.
    if (type === "NetworkReady" && networkFindings.length === 0) yield finding("network-not-ready", seen);
  }
}

const OLDEST: Readonly<Record<string, readonly [major: number, minor: number]>> = {
  containerd: [2, 0],
  "cri-o": [1, 34],
};

/** Nothing is said of a version that is no number. */
export function isOlder(version: string, [major, minor]: readonly [number, number]): boolean {
  const match = /^v?(\d+)\.(\d+)/.exec(version);
  if (match === null) return false;
  const [has, hasMinor] = [Number(match[1]), Number(match[2])];
  return has < major || (has === major && hasMinor < minor);
}

function* judgeNetwork(
  { folder, programFolders, configuration, programs }: NetworkSeen,
  runtimeName: string,
): Findings {
  yield* unseen({ [`network configurations in ${folder}`]: configuration, "network plug-ins": programs });
  if (configuration.kind === "unseen") return;
  const taken = configuration.value;
  if (taken === undefined)
    return yield finding("cni-configuration-missing", `${folder} holds no .conf, .conflist or .json`);
  const { file, plugins } = taken;
  if ("fault" in plugins) return yield finding("cni-configuration-broken", `${file}: ${plugins.fault}`);
  const there = seenOf(programs);
  if (there === undefined) return;
  // containerd makes each pod's loopback by the plug-in of that name.
  const needed = [...new Set([...plugins, ...(runtimeName === "containerd" ? ["loopback"] : [])])];
  for (const plugin of needed.filter((each) => !there.includes(each)))
    yield finding("cni-plugin-missing", `${plugin}, needed by ${file}, is not in ${programFolders.join(" or ")}`);
}
