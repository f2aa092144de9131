import { dictionary } from "@zxcvbn-ts/language-common";

/** The shortest password that any deployment accepts; shorter ones need not be listed. */
const shortest = 8;

/**
 * **Common passwords** as one text, a line for each: a set of them would take ten times the memory of an isolate. From @zxcvbn-ts/language-common
 * (MIT; © 2012-2016 Dan Wheeler and Dropbox, Inc., © 2021 @zxcvbn-ts).
 */
export function commonPasswordsFile(): string {
  const listed = dictionary["passwords-common"].map((password) => password.normalize("NFKC").toLowerCase());
  const sorted = [...new Set(listed)].filter((password) => [...password].length >= shortest).toSorted();
  return `${JSON.stringify(`\n${sorted.join("\n")}\n`)}\n`;
}
