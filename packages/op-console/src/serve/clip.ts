/** **The size of a text in a page**, and the texts that fit: names, addresses and documents of an administrator may be long, and a page has 50 kB. */

const encoder = new TextEncoder();

/** The characters that a page writes as references, and how many bytes each then has more. */
const longer: Readonly<Record<string, number>> = { '"': 5, "'": 4, "&": 4, "<": 3, ">": 3 };

/** The bytes that a text has in a page. */
export function bytesInPage(text: string): number {
  const references = text.match(/["'&<>]/g) ?? [];
  return references.reduce((bytes, character) => bytes + (longer[character] ?? 0), encoder.encode(text).length);
}

/** The beginning of a text that has at most so many bytes in a page, with an ellipsis if that is not all of it. */
export function clip(text: string, most: number): string {
  // No character has more than six bytes.
  if (text.length * 6 <= most || bytesInPage(text) <= most) return text;
  let left = most - bytesInPage("…");
  let kept = "";
  for (const character of text) {
    left -= bytesInPage(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept}…`;
}

/** How many of the first parts have at most so many bytes together. */
export function countFitting(bytes: readonly number[], most: number): number {
  let left = most;
  const beyond = bytes.findIndex((each) => {
    left -= each;
    return left < 0;
  });
  return beyond < 0 ? bytes.length : beyond;
}
