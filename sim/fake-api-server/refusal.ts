/** How the fake API server refuses a request. The client adds the operation's name and makes an `ApiError` of it. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly reason: string;
  constructor(status: number, reason: string, detail: string) {
    super(detail);
    this.status = status;
    this.reason = reason;
  }
}

export const notFound = (what: string) => new Refusal(404, "NotFound", `${what} not found`);
export const conflict = (detail: string) => new Refusal(409, "Conflict", detail);
export const invalid = (what: string, detail: string) => new Refusal(422, "Invalid", `${what} is invalid: ${detail}`);
export const forbidden = (detail: string) => new Refusal(403, "Forbidden", detail);
export const badRequest = (detail: string) => new Refusal(400, "BadRequest", detail);
