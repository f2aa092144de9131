/**
 * **Text that is displayed or that names something**: one line of Unicode without control characters, and without those that reorder the text after
 * them (embeddings, overrides and isolates): a client's name appears in sentences of this provider.
 */
export function isPlainText(text: string): boolean {
  return text.isWellFormed() && !/[\p{Cc}\u2028-\u202e\u2066-\u2069]/u.test(text);
}

/** Fillers are letters and symbols without a shape: of Hangul, of Braille, of music. */
const fillers = /[\u115f\u1160\u3164\uffa0\u2800\u{1d159}]/gu;

/** Has a character that can be seen: a name of only spaces, joiners and tags would leave a gap in a sentence, or name nobody in a list. */
export function isVisibleText(text: string): boolean {
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(text.replaceAll(fillers, ""));
}
