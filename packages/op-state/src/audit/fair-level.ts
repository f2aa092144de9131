/**
 * **The highest number of rows that each group may keep so that all together keep at most `target`**: a small group keeps everything, and the largest
 * lose rows first. Pure.
 */
export function fairLevel(counts: readonly number[], target: number): number {
  let left = target;
  const ascending = counts.toSorted((one, other) => one - other);
  for (const [index, count] of ascending.entries()) {
    const level = Math.floor(left / (ascending.length - index));
    if (count > level) return level;
    left -= count;
  }
  return Number.POSITIVE_INFINITY;
}
