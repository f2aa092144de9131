/** The parameters of a form or a query, in their order. */
export type FormPairs = Iterable<readonly [name: string, value: string]>;

/**
 * **Decodes `application/x-www-form-urlencoded` text**, with the result of `URLSearchParams` for every text (form-pairs.test.ts). The class is used
 * for texts with a percent sign that does not begin an encoded character, because the rules for those are long. For all other texts, decoding here
 * saves a runtime object and one call per parameter.
 *
 * @see https://url.spec.whatwg.org/#concept-urlencoded-parser
 */
export function formPairs(text: string): FormPairs {
  // The constructor of the class discards a leading question mark.
  if (text.startsWith("?")) return new URLSearchParams(text);
  const pairs: [string, string][] = [];
  for (const part of text.split("&")) {
    if (part === "") continue;
    const equals = part.indexOf("=");
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    const value = equals < 0 ? "" : decode(part.slice(equals + 1));
    if (name === undefined || value === undefined) return new URLSearchParams(text);
    pairs.push([name, value]);
  }
  return pairs;
}

function decode(text: string): string | undefined {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
}
