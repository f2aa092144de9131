export type PseudoTag = "en-XA" | "ar-XB";

export interface PseudoLanguage {
  readonly name: string;
  readonly direction: "ltr" | "rtl";
  /** Alters an English text between values. */
  readonly alter: (text: string) => string;
  /** Marks a whole text. */
  readonly enclose: (text: string) => string;
}

/** **Languages that are made of the English texts**: none. The builds of tests replace this file by test/fixtures/pseudo-languages.ts. */
export const pseudoLanguages: Readonly<Partial<Record<PseudoTag, PseudoLanguage>>> = {};
