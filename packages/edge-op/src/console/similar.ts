/** **The known texts that a mistyped one probably means**, the nearest first: few letters differ, or it is the beginning of one. */
export function findSimilar(given: string, known: readonly string[]): string[] {
  const most = Math.max(1, Math.floor(given.length / 4));
  const found = [...new Set(known)].flatMap((text) => {
    const distance = distanceBetween(given, text);
    const isNear = distance <= most || (given.length > 2 && text.startsWith(given));
    return isNear ? [{ text, distance }] : [];
  });
  return found
    .toSorted((left, right) => left.distance - right.distance)
    .slice(0, 3)
    .map(({ text }) => text);
}

/** Letters to add, remove, replace, or swap with their neighbour. */
function distanceBetween(left: string, right: string): number {
  // Words of other lengths are never near, however long an argument is.
  if (Math.abs(left.length - right.length) > 16) return Number.POSITIVE_INFINITY;
  const rows: number[][] = [Array.from({ length: right.length + 1 }, (_, index) => index)];
  for (let at = 1; at <= left.length; at += 1) {
    const row = [at];
    for (let to = 1; to <= right.length; to += 1) {
      const isSame = left[at - 1] === right[to - 1];
      const isSwapped = left[at - 1] === right[to - 2] && left[at - 2] === right[to - 1];
      const swapped = at > 1 && to > 1 && isSwapped ? rows[at - 2]![to - 2]! + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(rows[at - 1]![to]! + 1, row[to - 1]! + 1, rows[at - 1]![to - 1]! + (isSame ? 0 : 1), swapped));
    }
    rows.push(row);
  }
  return rows[left.length]![right.length]!;
}
