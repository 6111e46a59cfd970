/**
 * The timestamp at the head of a log line, read from bytes and written back with all nine digits. One reader serves a
 * whole log: lines of the same second share their date, which is parsed once.
 */

const [DASH, COLON, DOT, PLUS, LETTER_T, LETTER_Z, ZERO] = [0x2d, 0x3a, 0x2e, 0x2b, 0x54, 0x5a, 0x30];
/** `2006-01-02T15:04:05`. */
const SECOND_BYTES = 19;
const NANO_DIGITS = 9;
/** The longest time that is written: a second, a point, nine digits and an offset. */
export const TIME_BYTES_MAX = SECOND_BYTES + 1 + NANO_DIGITS + 6;

/** A point in time. Seconds and nanoseconds together do not fit into one number. */
export interface LogTime {
  /** Since 1970, UTC. */
  readonly seconds: number;
  readonly nanos: number;
}

export const isBefore = (a: LogTime, b: LogTime): boolean =>
  a.seconds < b.seconds || (a.seconds === b.seconds && a.nanos < b.nanos);

export class LogTimeReader implements LogTime {
  seconds = 0;
  nanos = 0;
  /** The position after the time's last byte. */
  end = 0;
  readonly #second = new Uint8Array(SECOND_BYTES);
  /** `#second` in seconds since 1970, as if it were UTC. */
  #secondOfDate = 0;
  #offsetSeconds = 0;

  /** Whether there is an RFC 3339 time at `start`; the fields then contain it. */
  read(bytes: Uint8Array, start: number, limit: number): boolean {
    if (limit - start <= SECOND_BYTES) return false;
    if (!this.#isSameSecond(bytes, start) && !this.#readSecond(bytes, start)) return false;
    const zoneAt = this.#readNanos(bytes, start + SECOND_BYTES, limit);
    return zoneAt >= 0 && this.#readZone(bytes, zoneAt, limit);
  }

  /** Writes the time that was read last, at most `TIME_BYTES_MAX` bytes; returns where they end. */
  write(out: Uint8Array, at: number): number {
    out.set(this.#second, at);
    let end = at + SECOND_BYTES;
    out[end++] = DOT;
    end += NANO_DIGITS;
    let left = this.nanos;
    for (let digit = end - 1; digit >= end - NANO_DIGITS; digit -= 1) {
      out[digit] = ZERO + (left % 10);
      left = Math.trunc(left / 10);
    }
    return this.#writeZone(out, end);
  }

  #isSameSecond(bytes: Uint8Array, start: number): boolean {
    const known = this.#second;
    // From the end, because that is where two times differ.
    for (let index = SECOND_BYTES - 1; index >= 0; index -= 1) {
      if (bytes[start + index] !== known[index]) return false;
    }
    return true;
  }

  #readSecond(bytes: Uint8Array, start: number): boolean {
    const hasMarks =
      bytes[start + 4] === DASH &&
      bytes[start + 7] === DASH &&
      bytes[start + 10] === LETTER_T &&
      bytes[start + 13] === COLON &&
      bytes[start + 16] === COLON;
    if (!hasMarks) return false;
    const century = twoDigits(bytes, start);
    const [year, month, day] = [twoDigits(bytes, start + 2), twoDigits(bytes, start + 5), twoDigits(bytes, start + 8)];
    const [hour, minute] = [twoDigits(bytes, start + 11), twoDigits(bytes, start + 14)];
    const second = twoDigits(bytes, start + 17);
    if (!(century >= 0 && year >= 0 && hour >= 0 && hour < 24 && minute >= 0 && minute < 60)) return false;
    if (!(second >= 0 && second < 60 && month >= 1 && month <= 12)) return false;
    const dayMs = utcMs(century * 100 + year, month, 1) + (day - 1) * 86_400_000;
    if (day < 1 || new Date(dayMs).getUTCMonth() !== month - 1) return false;
    this.#second.set(bytes.subarray(start, start + SECOND_BYTES));
    this.#secondOfDate = dayMs / 1000 + hour * 3600 + minute * 60 + second;
    return true;
  }

  /** Returns where the zone begins, or -1. Digits beyond the ninth are ignored. */
  #readNanos(bytes: Uint8Array, start: number, limit: number): number {
    this.nanos = 0;
    if (bytes[start] !== DOT) return start;
    let at = start + 1;
    let nanos = 0;
    for (; at < limit; at += 1) {
      const digit = (bytes[at] ?? 0) - ZERO;
      if (digit < 0 || digit > 9) break;
      if (at - start <= NANO_DIGITS) nanos = nanos * 10 + digit;
    }
    const digits = at - start - 1;
    if (digits === 0) return -1;
    for (let missing = digits; missing < NANO_DIGITS; missing += 1) nanos *= 10;
    this.nanos = nanos;
    return at;
  }

  #readZone(bytes: Uint8Array, at: number, limit: number): boolean {
    if (at < limit && bytes[at] === LETTER_Z) {
      this.#offsetSeconds = 0;
      this.end = at + 1;
    } else {
      const sign = bytes[at] === PLUS ? 1 : bytes[at] === DASH ? -1 : 0;
      const [hours, minutes] = [twoDigits(bytes, at + 1), twoDigits(bytes, at + 4)];
      if (sign === 0 || at + 6 > limit || bytes[at + 3] !== COLON) return false;
      if (hours < 0 || hours > 24 || minutes < 0 || minutes > 59) return false;
      this.#offsetSeconds = sign * (hours * 3600 + minutes * 60);
      this.end = at + 6;
    }
    this.seconds = this.#secondOfDate - this.#offsetSeconds;
    return true;
  }

  #writeZone(out: Uint8Array, at: number): number {
    if (this.#offsetSeconds === 0) {
      out[at] = LETTER_Z;
      return at + 1;
    }
    const minutes = Math.abs(this.#offsetSeconds) / 60;
    out[at] = this.#offsetSeconds > 0 ? PLUS : DASH;
    writeTwoDigits(out, at + 1, Math.trunc(minutes / 60));
    out[at + 3] = COLON;
    writeTwoDigits(out, at + 4, minutes % 60);
    return at + 6;
  }
}

/** `Date.UTC` would read years below 100 as years of the 20th century. */
function utcMs(year: number, month: number, day: number): number {
  const date = new Date(0);
  return date.setUTCFullYear(year, month - 1, day);
}

/** -1 if the bytes are not two digits. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const [tens, ones] = [(bytes[at] ?? 0) - ZERO, (bytes[at + 1] ?? 0) - ZERO];
  return tens < 0 || tens > 9 || ones < 0 || ones > 9 ? -1 : tens * 10 + ones;
}

function writeTwoDigits(out: Uint8Array, at: number, value: number): void {
  out[at] = ZERO + Math.trunc(value / 10);
  out[at + 1] = ZERO + (value % 10);
}
