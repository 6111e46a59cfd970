/** A volume cannot be set up. The texts are those that Kubernetes users know: the failed operation and the cause. */
export class VolumeFailure extends Error {
  override readonly name = "VolumeFailure";
  readonly operation: string;
  constructor(operation: string, cause: string) {
    super(cause);
    this.operation = operation;
  }
}
