/** D-Bus messages: a header with the kind, the destination and the signature of the body, followed by the body. */

import { DBUS_MESSAGE_BYTES_MAX } from "../limits.ts";
import { marshal } from "./marshal.ts";
import type { DbusValue, DbusVariant } from "./signature.ts";
import { MalformedError, unmarshal } from "./unmarshal.ts";

const KINDS = ["call", "reply", "error", "signal"] as const;

export interface DbusMessage {
  readonly kind: (typeof KINDS)[number];
  readonly serial: number;
  readonly path?: string;
  readonly interface?: string;
  readonly member?: string;
  readonly errorName?: string;
  readonly replyTo?: number;
  readonly destination?: string;
  readonly sender?: string;
  readonly signature?: string;
  readonly body: readonly DbusValue[];
}

const HEADER = "yyyyuua(yv)";
/** The header up to and including the length of the header fields. */
const FIXED_BYTES = 16;
const LITTLE = 0x6c;
const BIG = 0x42;
const PROTOCOL = 1;

const FIELDS = [
  [1, "path", "o"],
  [2, "interface", "s"],
  [3, "member", "s"],
  [4, "errorName", "s"],
  [5, "replyTo", "u"],
  [6, "destination", "s"],
  [7, "sender", "s"],
  [8, "signature", "g"],
] as const satisfies readonly (readonly [number, keyof DbusMessage, string])[];

export function encodeMessage(message: DbusMessage): Buffer {
  const body = marshal(message.signature ?? "", message.body);
  const fields: [number, DbusVariant][] = [];
  for (const [code, name, signature] of FIELDS) {
    const value = message[name];
    if (value !== undefined) fields.push([code, { signature, value }]);
  }
  const kind = KINDS.indexOf(message.kind) + 1;
  const header = marshal(HEADER, [LITTLE, kind, 0, PROTOCOL, body.length, message.serial, fields]);
  return Buffer.concat([header, Buffer.alloc(toEight(header.length) - header.length), body]);
}

/** The length of the message that starts here; undefined until enough of it has arrived. */
export function messageLength(bytes: Buffer): number | undefined {
  if (bytes.length < FIXED_BYTES) return undefined;
  const [bodyBytes, fieldBytes] = isLittle(bytes)
    ? [bytes.readUInt32LE(4), bytes.readUInt32LE(12)]
    : [bytes.readUInt32BE(4), bytes.readUInt32BE(12)];
  const length = toEight(FIXED_BYTES + fieldBytes) + bodyBytes;
  if (length > DBUS_MESSAGE_BYTES_MAX) throw new MalformedError(`a D-Bus message of ${length} bytes`);
  return length;
}

/**
 * Decodes one complete message. Unknown header fields are ignored; a message of an unknown kind yields undefined.
 * Anyone may send signals, so an unreadable signal yields undefined too.
 */
export function decodeMessage(bytes: Buffer): DbusMessage | undefined {
  const little = isLittle(bytes);
  const [, kindNumber, , , bodyBytes, serial, fields] = unmarshal(HEADER, bytes, little);
  const kind = KINDS[Number(kindNumber) - 1];
  if (kind === undefined) return undefined;
  const named = Object.fromEntries(
    (fields as readonly (readonly [number, DbusVariant])[]).flatMap(([code, { value }]) => {
      const name = FIELDS.find(([known]) => known === code)?.[1];
      return name === undefined ? [] : [[name, value]];
    }),
  ) as Partial<DbusMessage>;
  const body = bytes.subarray(bytes.length - Number(bodyBytes));
  try {
    return { ...named, kind, serial: Number(serial), body: unmarshal(named.signature ?? "", body, little) };
  } catch (error) {
    if (kind === "signal" && error instanceof MalformedError) return undefined;
    throw error;
  }
}

function isLittle(bytes: Buffer): boolean {
  if (bytes[0] !== LITTLE && bytes[0] !== BIG) throw new MalformedError(`a D-Bus message begins with ${bytes[0]}`);
  return bytes[0] === LITTLE;
}

const toEight = (length: number) => Math.ceil(length / 8) * 8;
