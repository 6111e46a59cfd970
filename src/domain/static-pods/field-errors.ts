/** Collects an object's validation errors by field, with the messages and paths of the API server. */

export class FieldErrors {
  readonly #all: string[] = [];

  get all(): readonly string[] {
    return this.#all;
  }

  required(path: string, detail = ""): void {
    this.#all.push(`${path}: Required value${detail === "" ? "" : `: ${detail}`}`);
  }

  forbidden(path: string, detail: string): void {
    this.#all.push(`${path}: Forbidden: ${detail}`);
  }

  duplicate(path: string, value: string): void {
    this.#all.push(`${path}: Duplicate value: ${JSON.stringify(value)}`);
  }

  notFound(path: string, value: string): void {
    this.#all.push(`${path}: Not found: ${JSON.stringify(value)}`);
  }

  invalid(path: string, value: string | number | boolean, ...details: readonly string[]): void {
    for (const detail of details) this.#all.push(`${path}: Invalid value: ${JSON.stringify(value)}: ${detail}`);
  }

  /** The value must be one of `supported`. Empty counts as missing. */
  oneOf(path: string, value: string | undefined, supported: readonly string[]): void {
    if (value === undefined || value === "") this.required(path);
    else if (!supported.includes(value)) this.unsupported(path, value, supported);
  }

  unsupported(path: string, value: string, supported: readonly string[]): void {
    const names = supported.map((name) => JSON.stringify(name)).join(", ");
    this.#all.push(`${path}: Unsupported value: ${JSON.stringify(value)}: supported values: ${names}`);
  }

  nonNegative(path: string, value: number | undefined): void {
    if (value !== undefined && value < 0) this.invalid(path, value, "must be greater than or equal to 0");
  }

  inRange(path: string, value: number | undefined, least: number, most: number): void {
    if (value === undefined || (value >= least && value <= most)) return;
    this.invalid(path, value, `must be between ${least} and ${most}, inclusive`);
  }
}
