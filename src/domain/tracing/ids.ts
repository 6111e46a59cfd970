/** Random trace and span IDs. An ID of only zeros means "none", so it becomes 1. */

const DRAW_HEX = 8;

/** Four bytes of each draw; a draw is from 0 up to, but not including, 1. */
function hexOf(draw: () => number, draws: number): string {
  const parts = Array.from({ length: draws }, () =>
    Math.floor(draw() * 2 ** 32)
      .toString(16)
      .padStart(DRAW_HEX, "0"),
  );
  const id = parts.join("");
  return /^0+$/.test(id) ? id.replace(/0$/, "1") : id;
}

export const newTraceId = (draw: () => number): string => hexOf(draw, 4);
export const newSpanId = (draw: () => number): string => hexOf(draw, 2);
