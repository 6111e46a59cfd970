/** Generated text inside pages that people write. */

/** The page with this text between the markers. `name`: the page, for the error when it lacks them. */
export function withTextBetween(
  page: string,
  { begin, end, name }: { readonly begin: string; readonly end: string; readonly name: string },
  text: string,
): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${name} has no "${begin}" with "${end}" after it`);
  return `${page.slice(0, from)}${begin}\n${text}\n${page.slice(to)}`;
}
