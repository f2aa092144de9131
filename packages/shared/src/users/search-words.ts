import type { UserClaims } from "./user.ts";

/** What people are searched by. `migrations/0005_user_search.sql` has the same list, in this order, as `users.search_source`. */
export type SearchSource = readonly (string | null)[];

type Named = Readonly<Partial<Record<"sub" | "username", string>>> & { readonly claims: Partial<UserClaims> };

/** Characters of a word: longer ones are cut, in the index and in a search. */
const longestWord = 64;
const mostWords = 24;
const mostSearchedWords = 8;
/** Above every character, as SQLite compares texts: by their bytes. */
const lastCharacter = "\u{10ffff}";

/** Letters that Unicode does not decompose, and the sigma at the end of a word. */
const others: Readonly<Record<string, string>> = {
  ...{ ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ħ: "h", ı: "i", ŋ: "n", ŧ: "t", ς: "σ" },
};

/** **A text as it is searched**: in small letters, without marks (Unicode NFKD). */
export function folded(text: string): string {
  const small = text.normalize("NFKD").toLowerCase().normalize("NFKD");
  return small.replaceAll(/\p{Script=Inherited}/gu, "").replaceAll(/[ßæœøłđðþħıŋŧς]/g, (letter) => others[letter]!);
}

/** Whole characters. */
function cut(word: string): string {
  const end = word.slice(0, longestWord);
  return /[\ud800-\udbff]$/.test(end) ? end.slice(0, -1) : end;
}

/** The words of a search, each of which is the beginning of one of the person's. */
export function searchedWords(text: string): readonly string[] {
  const words = folded(text)
    .split(/[\s,;]+/)
    .map((word) => cut(word.replace(/\*+$/, "")))
    .filter((word) => word !== "");
  return [...new Set(words)].slice(0, mostSearchedWords);
}

/** The texts from which words begin. */
export function rangeOf(word: string): readonly [from: string, end: string] {
  return [word, word + lastCharacter];
}

export function searchSource({ sub = "", username = "", claims }: Named): SearchSource {
  const { name, given_name, family_name, middle_name, nickname, preferred_username, email } = claims;
  const named = [name, given_name, family_name, middle_name, nickname, preferred_username, email];
  return [sub, username, ...named.map((text) => text ?? null)];
}

/** **The words by which a person is found**: those of each name, the parts of names with hyphens, and the address and the username as a whole. */
export function wordsOf(source: SearchSource): readonly string[] {
  const [, username, ...named] = source.map((text) => folded(text ?? ""));
  const email = named.at(-1) ?? "";
  const words = [username ?? "", ...named.slice(0, -1)].flatMap((text) => text.split(/[\s,;]+/));
  const parts = words.filter((word) => !word.includes("@")).flatMap((word) => word.split(/[\p{P}\p{S}]+/u).slice(1));
  const all = [email, ...words, ...parts].map(cut).filter((word) => word !== "");
  return [...new Set(all)].slice(0, mostWords);
}
