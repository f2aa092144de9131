import * as z from "zod";
import { isPlainText, isVisibleText } from "./is-plain-text.ts";
import { when } from "./member-rules.ts";

export function plainText(longest: number) {
  return z.string().min(1).max(longest).refine(isPlainText, "must not contain control characters");
}

/** Text with at least one visible character. */
export function visibleText(longest: number) {
  return plainText(longest).refine(isVisibleText, "must have a visible character");
}

export const scopeValue = z
  .string()
  .max(256)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "must be a scope value (RFC 6749, section 3.3)");

/** The values that a policy allows: `"*"` means any, and must be the only value. */
export function policyList<Value extends z.ZodType<string>>(value: Value) {
  return z
    .array(value)
    .max(100)
    .refine((list) => list.length === 1 || !list.some((item) => item === "*"), '"*" must stand alone')
    .meta(when({ contains: { const: "*" } }, [{ maxItems: 1 }]));
}
