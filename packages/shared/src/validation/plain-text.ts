import * as z from "zod";

/** **Text that is displayed or that names something**: Unicode without control characters. */
export function isPlainText(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text);
}

export function plainText(longest: number) {
  return z.string().min(1).max(longest).refine(isPlainText, "must not hold control characters");
}
