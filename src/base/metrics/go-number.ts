/**
 * Formats a number like Go's shortest form, which scrapers and golden files of the Go kubelet contain. The digits equal
 * JavaScript's. From 1e6 on and below 1e-4 the number has an exponent of at least two digits.
 */
export function goNumber(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-4 && size < 1e6) return String(value);
  const text = value.toExponential();
  const exponentAt = text.indexOf("e") + 2;
  return text.length - exponentAt > 1 ? text : `${text.slice(0, exponentAt)}0${text.slice(exponentAt)}`;
}
