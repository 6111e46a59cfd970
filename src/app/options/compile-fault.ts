/** Valid field by field, and still nothing to run. */
export class CompileFault extends Error {
  override readonly name: string = "CompileFault";
}

/** Found before the kubelet itself is begun with, which Go says in other words. */
export class DependencyFault extends CompileFault {
  override readonly name = "DependencyFault";
}
