/**
 * **Globs of claim rules.** `*` is one or more characters other than the separators `/`, `:` and `@`; `**` is one or more of any characters; every
 * other character matches itself. So a branch or environment whose name contains part of the pattern cannot match `repo:acme/*:ref:refs/heads/main`,
 * and a text with a second `@` cannot match `*@example.com`. The time is at most proportional to pattern × text (no regular expressions).
 */

const separators = "/:@";

/** Longer values match no pattern. */
const longestText = 2_048;

type Part = { readonly kind: "text"; readonly text: string } | { readonly kind: "segment" | "any" };

function parse(pattern: string): readonly Part[] {
  return pattern
    .split(/(\*+)/)
    .filter((text) => text !== "")
    .map((text): Part => {
      if (text === "*") return { kind: "segment" };
      return text === "**" ? { kind: "any" } : { kind: "text", text };
    });
}

/** The fault of a pattern; `undefined` if it has none. */
export function globFault(pattern: string): string | undefined {
  return pattern.includes("***") ? "must not contain three stars in a row" : undefined;
}

export function matchesGlob(pattern: string, text: string): boolean {
  if (text.length > longestText || globFault(pattern) !== undefined) return false;
  // The positions that the parts so far can reach.
  let reached = new Set([0]);
  for (const part of parse(pattern)) {
    reached =
      part.kind === "text" ? afterText(text, reached, part.text) : afterStar(text, reached, part.kind === "any");
    if (reached.size === 0) return false;
  }
  return reached.has(text.length);
}

function afterText(text: string, reached: ReadonlySet<number>, literal: string): Set<number> {
  const next = new Set<number>();
  for (const at of reached) if (text.startsWith(literal, at)) next.add(at + literal.length);
  return next;
}

function afterStar(text: string, reached: ReadonlySet<number>, crosses: boolean): Set<number> {
  const next = new Set<number>();
  let isInside = false;
  for (let at = 0; at < text.length; at += 1) {
    isInside = (isInside || reached.has(at)) && (crosses || !separators.includes(text[at]!));
    if (isInside) next.add(at + 1);
  }
  return next;
}
