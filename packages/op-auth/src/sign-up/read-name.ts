import { isPlainText, isVisibleText } from "@edge-op/shared/http/is-plain-text";

/** The longest name of a person who signs up, in characters. */
export const longestName = 100;

/** A typed name: one line of text that can be seen, trimmed and normalized to NFC; `undefined` for anything else. Pure. */
export function readName(typed: string | undefined): string | undefined {
  const name = (typed ?? "").normalize("NFC").trim();
  const isName = isVisibleText(name) && [...name].length <= longestName && isPlainText(name);
  return isName ? name : undefined;
}
