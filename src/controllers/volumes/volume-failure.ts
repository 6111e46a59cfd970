/** A volume that cannot be set up, in the words that users know: what failed, and why. */
export class VolumeFailure extends Error {
  override readonly name = "VolumeFailure";
  readonly operation: string;
  constructor(operation: string, cause: string) {
    super(cause);
    this.operation = operation;
  }
}
