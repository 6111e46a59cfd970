/** Each field is valid, but the agent cannot run with the configuration. */
export class CompileFault extends Error {
  override readonly name: string = "CompileFault";
}

/** Found before the kubelet itself is constructed, for which Go has a different message. */
export class DependencyFault extends CompileFault {
  override readonly name = "DependencyFault";
}
