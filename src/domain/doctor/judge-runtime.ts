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
  const networkFindings = [...judgeNetwork(network)];
  yield* networkFindings;
  if (apiVersion !== "v1")
    return yield finding("runtime-without-cri", `${name} ${version} at ${endpoint} speaks CRI ${apiVersion}`);
  if (runtime.driver.kind === "seen" && runtime.driver.value === undefined)
    yield finding("runtime-old", `${name} ${version} at ${endpoint} does not know RuntimeConfig`);
  yield* unseen({ "the runtime's state": runtime.conditions });
  for (const { type, status, reason, message } of seenOf(runtime.conditions) ?? []) {
    if (status) continue;
    const seen = `${name} says ${type} is false: ${[reason, message].filter((text) => text !== "").join(": ")}`;
    if (type === "RuntimeReady") yield finding("runtime-not-ready", seen);
    // What is wrong with its configuration was told already.
    if (type === "NetworkReady" && networkFindings.length === 0) yield finding("network-not-ready", seen);
  }
}

/** Only where the runtime says that it looks: elsewhere its own word for the whole, NetworkReady, has to do. */
function* judgeNetwork({ configured, programs, needsLoopback }: NetworkSeen): Findings {
  if (configured === undefined) return;
  const { folder, configuration } = configured;
  yield* unseen({ [`network configurations in ${folder}`]: configuration });
  if (programs !== undefined) yield* unseen({ "network plug-ins": programs.found });
  if (configuration.kind === "unseen") return;
  const taken = configuration.value;
  if (taken === undefined)
    return yield finding("cni-configuration-missing", `${folder} holds no .conf, .conflist or .json`);
  const { file, plugins } = taken;
  if ("fault" in plugins) return yield finding("cni-configuration-broken", `${file}: ${plugins.fault}`);
  const there = programs === undefined ? undefined : seenOf(programs.found);
  if (there === undefined) return;
  const needed = [...new Set([...plugins, ...(needsLoopback ? ["loopback"] : [])])];
  for (const plugin of needed.filter((each) => !there.includes(each)))
    yield finding("cni-plugin-missing", `${plugin}, needed by ${file}, is not in ${programs?.folders.join(" or ")}`);
}
