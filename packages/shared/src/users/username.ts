/**
 * **The canonical form of usernames**: RFC 8265's UsernameCaseMapped profile of the PRECIS IdentifierClass (RFC 8264). Two spellings name one user if
 * and only if their canonical forms are equal. It is stricter than the profile in one point: join controls are refused like every other format
 * character, not allowed in context. Pure.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8265#section-3.3
 */

const longestUsername = 255;

/** The form that is compared: width, case and composition mapped. `undefined` for a text that is not a username. */
export function canonicalUsername(text: string): string | undefined {
  const canonical = preservedUsername(text)?.toLowerCase().normalize("NFC");
  return canonical !== undefined && findUsernameFault(canonical) === undefined ? canonical : undefined;
}

/** The form that is stored and displayed: the same without case mapping (§3.4). */
export function preservedUsername(text: string): string | undefined {
  if (text.length > longestUsername || !text.isWellFormed()) return undefined;
  const mapped = mapWidth(text);
  // Done before composition, which would replace the Kelvin sign with the letter.
  if ([...mapped].some(hasCompatibilityForm)) return undefined;
  const preserved = mapped.normalize("NFC");
  return findUsernameFault(preserved) === undefined ? preserved : undefined;
}

/** The reason why a text is not a valid username in its stored form; `undefined` if it is. */
export function findUsernameFault(text: string): string | undefined {
  if (text === "") return "must not be empty";
  if (!text.isWellFormed()) return "must be Unicode text";
  if (text !== text.trim()) return "must not begin or end with white space";
  const points = [...text];
  const wrong = points.find((point, index) => !isAllowed(point, points, index));
  if (wrong !== undefined) return `must not contain ${describe(wrong)}`;
  if (text !== text.normalize("NFC")) return "must be in Unicode's composed form (NFC)";
  return isBidiRuleMet(points) ? undefined : "must not mix writing directions (RFC 5893, section 2)";
}

function describe(point: string): string {
  if (/\p{Cc}/u.test(point)) return "control characters";
  const code = `U+${point.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")} (RFC 8265)`;
  if (/\p{Z}/u.test(point)) return `white space: ${code}`;
  return /\p{C}/u.test(point) ? `format characters: ${code}` : code;
}

/** §3.3.1: fullwidth and halfwidth characters are mapped to their decompositions; all of them lie in these ranges. */
function mapWidth(text: string): string {
  return text.replace(/[\u3000\uff01-\uffee]/g, (point) => point.normalize("NFKC"));
}

/** RFC 8264 §9.17, HasCompat: the character has a compatibility decomposition. */
function hasCompatibilityForm(point: string): boolean {
  return point.normalize("NFKC") !== point;
}

/** RFC 8264 §9.6. */
const allowedExceptions = /^[\u00df\u03c2\u06fd\u06fe\u0f0b\u3007]$/;
const refusedExceptions = /^[\u0640\u07fa\u302e\u302f\u3031-\u3035\u303b]$/;
/** §9.11. */
const visibleAscii = /^[\x21-\x7e]$/;
/** §9.9: the components of modern Hangul syllables. */
const hangulJamo = /^[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7c6\ud7cb-\ud7fb]$/;
/** §9.13: ignorable characters. */
const ignorable = /^[\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]$/u;
/** §9.1. */
const letterOrDigit = /^[\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Lm}\p{Mn}\p{Mc}]$/u;

/** RFC 8264 §8, for the IdentifierClass. */
function isAllowed(point: string, points: readonly string[], index: number): boolean {
  if (allowedExceptions.test(point)) return true;
  if (refusedExceptions.test(point)) return false;
  const inContext = isAllowedInContext(point, points, index);
  if (inContext !== undefined) return inContext;
  if (visibleAscii.test(point)) return true;
  if (hangulJamo.test(point) || ignorable.test(point) || hasCompatibilityForm(point)) return false;
  return letterOrDigit.test(point);
}

const arabicIndicDigit = /^[\u0660-\u0669]$/;
const extendedArabicIndicDigit = /^[\u06f0-\u06f9]$/;

/** RFC 5892 Appendix A.3 to A.9; `undefined` for a character without a rule. */
function isAllowedInContext(point: string, points: readonly string[], index: number): boolean | undefined {
  const before = points[index - 1] ?? "";
  const after = points[index + 1] ?? "";
  const some = (pattern: RegExp) => points.some((other) => pattern.test(other));
  if (point === "\u00b7") return before === "l" && after === "l";
  if (point === "\u0375") return /^\p{Script=Greek}$/u.test(after);
  if (point === "\u05f3" || point === "\u05f4") return /^\p{Script=Hebrew}$/u.test(before);
  if (point === "\u30fb") return some(/^[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]$/u);
  if (arabicIndicDigit.test(point)) return !some(extendedArabicIndicDigit);
  if (extendedArabicIndicDigit.test(point)) return !some(arabicIndicDigit);
  return undefined;
}

/** Scripts with right-to-left letters (Bidi_Class R and AL) in which names are written today. */
const rightToLeft =
  /^[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}\p{Script=Hanifi_Rohingya}\p{Script=Mende_Kikakui}\p{Script=Yezidi}]$/u;

type Direction = "right" | "left" | "arabicNumber" | "europeanNumber" | "mark" | "neutral";

function directionOf(point: string): Direction {
  if (arabicIndicDigit.test(point)) return "arabicNumber";
  if (/^[0-9]$/.test(point) || extendedArabicIndicDigit.test(point)) return "europeanNumber";
  if (/^\p{Mn}$/u.test(point)) return "mark";
  if (rightToLeft.test(point)) return "right";
  return /^[\p{L}\p{N}\p{Mc}]$/u.test(point) ? "left" : "neutral";
}

/** §3.3.1: the Bidi Rule of RFC 5893 §2, for a name that contains a right-to-left character. */
function isBidiRuleMet(points: readonly string[]): boolean {
  const directions = points.map(directionOf);
  if (!directions.includes("right") && !directions.includes("arabicNumber")) return true;
  if (directions[0] !== "right" || directions.includes("left")) return false;
  if (directions.includes("arabicNumber") && directions.includes("europeanNumber")) return false;
  const last = directions.findLast((direction) => direction !== "mark");
  return last === "right" || last === "arabicNumber" || last === "europeanNumber";
}
