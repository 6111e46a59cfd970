/**
 * The features that a node declares. The API server sends raw WebSockets, and the scheduler places pods, by this list:
 * a feature that is not implemented must not be on it.
 */

/** By the API server's name of the feature. A line changes from false to true with the change that implements it. */
const BUILT = {
  ExtendWebSocketsToKubelet: true,
  InPlacePodLevelResourcesVerticalScaling: true,
  InPlacePodVerticalScalingInitContainers: true,
  RestartAllContainersOnContainerExits: true,
} as const;

/** Sorted; undefined when there are none. */
export function declaredFeatures(
  gates: Readonly<Record<string, boolean>>,
  built: Readonly<Record<string, boolean>> = BUILT,
): readonly string[] | undefined {
  if (gates["NodeDeclaredFeatures"] === false) return undefined;
  const names = Object.keys(built).filter((name) => built[name] === true && gates[name] !== false);
  return names.length === 0 ? undefined : names.sort();
}
