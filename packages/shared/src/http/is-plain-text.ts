/**
 * **Text that is displayed or that names something**: Unicode without control characters, and without those that reorder the text after them
 * (embeddings, overrides and isolates): a client's name appears in sentences of this provider.
 */
export function isPlainText(text: string): boolean {
  return text.isWellFormed() && !/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(text);
}
