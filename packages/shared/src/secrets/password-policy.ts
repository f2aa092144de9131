import { normalizePassword } from "./password-hash.ts";

export const passwordFaults = [
  ...(["malformed", "tooShort", "tooLong", "common", "personal", "simple"] as const),
  /** In the list of `PASSWORD_BREACH` (breached-password.ts). */
  "breached",
] as const;

export type PasswordFault = (typeof passwordFaults)[number];

/** Code points after normalization. */
export const mostPasswordCharacters = 256;
/** The minimum length of a password after each of its predictable parts was reduced to one character. */
const leastSimplified = 8;
/** Shorter words are part of too many others. */
const shortestWord = 3;

export interface PasswordContext {
  readonly settings: { readonly issuer: string; readonly passwordMin: number };
  readonly username: string;
  readonly email?: string | undefined;
  /** The name of the service, as shown to people. */
  readonly service?: string;
}

/**
 * **Whether a new password is acceptable**: long enough, not a common one, and not made of the user's own words, repetitions and sequences alone. No
 * rule about kinds of characters. Passwords that were set before a rule was added keep working. Pure; under 1 ms.
 * `commonPasswords`: lines in small letters, each between line breaks.
 *
 * @see https://pages.nist.gov/800-63-4/sp800-63b.html#passwordver
 */
export function findPasswordFault(
  password: string,
  context: PasswordContext,
  commonPasswords: string,
): PasswordFault | undefined {
  const isCommon = (each: string) => commonPasswords.includes(`\n${each}\n`);
  if (!password.isWellFormed()) return "malformed";
  const text = normalizePassword(password);
  const characters = [...text].length;
  if (characters < context.settings.passwordMin) return "tooShort";
  if (characters > mostPasswordCharacters) return "tooLong";
  const typed = fold(text);
  if (isCommon(typed)) return "common";
  const impersonal = wordsOf(context).reduce((rest, word) => rest.replaceAll(word, ""), typed);
  const simplified = simplify(impersonal);
  if (isCommon(simplified)) return "common";
  if ([...simplified].length >= leastSimplified) return undefined;
  return impersonal === typed ? "simple" : "personal";
}

/** Other widths and cases of the same characters are guessed with them. */
function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

/** Longest first, because a name contains its parts. */
function wordsOf({ username, email = "", service = "", settings }: PasswordContext): string[] {
  const { host, hostname } = new URL(settings.issuer);
  const whole = [username, email, email.split("@")[0] ?? "", service, host, hostname].map(fold);
  const parts = whole.flatMap((word) => word.split(/[^\p{L}\p{N}]+/u));
  const words = [...new Set([...whole, ...parts])].filter((word) => word.length >= shortestWord);
  return words.toSorted((left, right) => right.length - left.length);
}

const sequences = [
  "abcdefghijklmnopqrstuvwxyz",
  "01234567890",
  "qwertyuiop",
  "qwertzuiop",
  "asdfghjkl",
  "zxcvbnm",
  "yxcvbnm",
];

/** Repeated parts count once, and so does a run of three or more characters of an alphabet or a row of keys, in either direction. */
function simplify(text: string): string {
  const once = text.replace(/(.+?)\1+/gsu, "$1");
  const shortened = collapseRuns(once).replace(/(.+?)\1+/gsu, "$1");
  return shortened === text ? text : simplify(shortened);
}

function collapseRuns(text: string): string {
  const characters = [...text];
  let result = "";
  for (let index = 0; index < characters.length; ) {
    const length = Math.max(...sequences.map((sequence) => runLength(characters, index, sequence)));
    result += characters[index];
    index += length >= 3 ? length : 1;
  }
  return result;
}

/** The number of characters from `start` that follow each other in the sequence. */
function runLength(characters: readonly string[], start: number, sequence: string): number {
  const positions = (index: number) => sequence.indexOf(characters[index] ?? "\0");
  const lengths = [1, -1].map((step) => {
    let length = 1;
    for (let at = positions(start); at >= 0; length += 1) {
      at += step;
      if (at < 0 || at >= sequence.length || sequence[at] !== characters[start + length]) break;
    }
    return length;
  });
  return Math.max(...lengths);
}
