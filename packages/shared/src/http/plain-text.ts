import * as z from "zod";
import { isPlainText, isVisibleText } from "./is-plain-text.ts";

export function plainText(longest: number) {
  return z.string().min(1).max(longest).refine(isPlainText, "must not contain control characters");
}

/** Text with at least one visible character. */
export function visibleText(longest: number) {
  return plainText(longest).refine(isVisibleText, "must have a visible character");
}

const mostLanguages = 20;

/** A text for people in further languages, by language tag (RFC 5646), as `textFor` of the pages reads them. */
export function textsByLanguage(longest: number) {
  return z
    .record(z.string().regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}$/, "must be a language tag"), visibleText(longest))
    .refine((texts) => Object.keys(texts).length <= mostLanguages, `must have at most ${mostLanguages} languages`)
    .meta({ maxProperties: mostLanguages })
    .exactOptional();
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

/**
 * **Rules between members of a body, as JSON Schema** for the API document, which programs read. The code beside the schema decides, with a message
 * for people; a rule that JSON Schema cannot express (an order of two numbers, a key of one kind) is in the code alone.
 *
 * @see https://json-schema.org/draft/2020-12/json-schema-core#name-keywords-for-applying-subsch
 */

type JsonSchema = Readonly<Record<string, unknown>>;

export function has(...names: readonly string[]): JsonSchema {
  return { required: names };
}

export function hasNone(...names: readonly string[]): JsonSchema {
  return { not: { anyOf: names.map((name) => has(name)) } };
}

/** The member is there and is one of the values; with `byDefault`, it may be absent. */
export function isAmong(name: string, values: readonly unknown[], byDefault = false): JsonSchema {
  return { properties: { [name]: { enum: values } }, ...(byDefault ? {} : has(name)) };
}

/** The member is a list that is not empty. */
export function hasItems(name: string): JsonSchema {
  return { properties: { [name]: { minItems: 1 } }, ...has(name) };
}

/** Programs that make types of the document read no conditions, and so lose nothing by them. */
export function when(condition: JsonSchema, rules: readonly JsonSchema[], otherwise?: JsonSchema): JsonSchema {
  // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema; nothing awaits it.
  return { if: condition, then: { allOf: rules }, ...(otherwise === undefined ? {} : { else: otherwise }) };
}
