/** Judges the runtime and the network that it sets up for pods. */
import type { NetworkSeen, RuntimeSeen } from "./facts.ts";
import { type Findings, finding, seenOf, unseen } from "./finding.ts";

export function* judgeRuntime(runtime: RuntimeSeen, network: NetworkSeen): Findings {
  const { endpoint, answer, imageTrouble } = runtime;
  if (imageTrouble !== undefined)
    yield finding("image-service-unreachable", `${imageTrouble.endpoint}: ${imageTrouble.why}`);
  if (answer.kind === "silent") return yield finding("runtime-unreachable", `${endpoint}: ${answer.why}`);
  if (answer.kind === "noCri") return yield finding("runtime-without-cri", `${endpoint}: ${answer.why}`);
  const { name, version, apiVersion } = answer.version;
  // Only the runtime knows where its configuration is, so the network of a runtime that does not answer is not judged.
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
    // A problem with the network's configuration was reported already.
    if (type === "NetworkReady" && networkFindings.length === 0) yield finding("network-not-ready", seen);
  }
}

/** Only where the runtime reports its CNI directories; elsewhere its condition NetworkReady has to do. */
function* judgeNetwork({ configured, programs, needsLoopback }: NetworkSeen): Findings {
  if (configured === undefined) return;
  const { directory, configuration } = configured;
  yield* unseen({ [`network configurations in ${directory}`]: configuration });
  if (programs !== undefined) yield* unseen({ "network plug-ins": programs.found });
  if (configuration.kind === "unseen") return;
  const taken = configuration.value;
  if (taken === undefined)
    return yield finding("cni-configuration-missing", `${directory} holds no .conf, .conflist or .json`);
  const { file, plugins } = taken;
  if ("fault" in plugins) return yield finding("cni-configuration-broken", `${file}: ${plugins.fault}`);
  const there = programs === undefined ? undefined : seenOf(programs.found);
  if (there === undefined) return;
  const needed = [...new Set([...plugins, ...(needsLoopback ? ["loopback"] : [])])];
  for (const plugin of needed.filter((each) => !there.includes(each)))
    yield finding(
      "cni-plugin-missing",
      `${plugin}, needed by ${file}, is not in ${programs?.directories.join(" or ")}`,
    );
}
