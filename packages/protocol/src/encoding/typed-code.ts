/** The form of a code: `length` characters of `alphabet` (upper case), shown in groups of `group`. */
export interface CodeForm {
  readonly alphabet: string;
  readonly length: number;
  readonly group: number;
}

/** A text with more is not read. */
const longestText = 1_000;

/**
 * **A code as people type and paste it**, in its stored form: in any case and width, with the digits of any script, with hyphens, blanks and
 * invisible characters, or within a sentence that contains exactly one. `undefined` for any other text: two codes in one text are no code, so that
 * nobody tries several at once. Cost: 0.
 *
 * @see https://www.unicode.org/reports/tr44/#General_Category_Values
 */
export function readTypedCode(text: string, form: CodeForm): string | undefined {
  if (text.length > longestText) return undefined;
  const plain = toPlain(text);
  const whole = plain.replace(/[^\p{L}\p{N}]/gu, "");
  if (whole.length === form.length && [...whole].every((each) => form.alphabet.includes(each))) return whole;
  const found = new Set([...plain.matchAll(patternOf(form))].map(([code]) => code.replace(/[\s\p{Pd}]/gu, "")));
  const [code] = found;
  return found.size === 1 ? code : undefined;
}

/** Upper case, in the narrow form, with ASCII digits, without invisible characters and marks (a keycap's). */
function toPlain(text: string): string {
  return text
    .normalize("NFKC")
    .replace(/[\p{Cf}\p{M}]/gu, "")
    .replace(/\p{Nd}/gu, (digit) => String(digitOf(digit.codePointAt(0)!)))
    .toUpperCase();
}

/** The digits of a script are ten code points that follow one another and begin with zero; two scripts may be neighbours. */
function digitOf(point: number): number {
  let first = point;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return (point - first) % 10;
}

const patterns = new Map<CodeForm, RegExp>();

/**
 * A code between other words: in one piece, or in its groups. Blanks separate groups of digits only, because groups of letters resemble words. A
 * group more, before or after, makes it something else: a card, a telephone number.
 */
function patternOf(form: CodeForm): RegExp {
  const known = patterns.get(form);
  if (known !== undefined) return known;
  const { alphabet, length, group } = form;
  const one = `[${alphabet}]`;
  const separator = /^\d+$/.test(alphabet) ? "[\\s\\p{Pd}]" : "\\p{Pd}";
  const grouped = `(?<!${one}${separator})${one}{${group}}(?:${separator}${one}{${group}}){${length / group - 1}}(?!${separator}${one})`;
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${one}{${length}}|${grouped})(?![\\p{L}\\p{N}])`, "gu");
  patterns.set(form, pattern);
  return pattern;
}
