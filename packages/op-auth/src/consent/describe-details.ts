import { textFor } from "@edge-op/pages/languages";
import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import type { AuthorizationDetail, AuthorizationDetails } from "@edge-op/protocol/oauth/authorization-details";
import type { Settings } from "@edge-op/shared/config/settings";
import type { AuthPageFrame } from "../pages/frame.ts";

/** An object of `authorization_details` as shown to a person. */
export interface DescribedDetail {
  readonly title: string;
  readonly members: readonly { readonly label: string; readonly value: string }[];
}

type Translate = AuthPageFrame["t"];

const labelled = ["locations", "actions", "datatypes", "identifier", "privileges"] as const;

/** Deeper values are shown as JSON. */
const deepest = 3;

/**
 * **Describes authorization details**: the description of the type, and every member with its label: nothing that is requested is left out (RFC 9396
 * §12). The text comes from the client and is escaped. Characters that would reorder or hide it are shown as their code points.
 */
export function describeDetails(
  { authorizationTypes }: Settings,
  t: Translate,
  details: AuthorizationDetails = [],
): DescribedDetail[] {
  return details.map((detail) => {
    const { description, schema } = authorizationTypes[detail.type] ?? {};
    return {
      title: textFor(description, t.language) ?? description?.["en"] ?? t("detail.type", { type: detail.type }),
      members: describeMembers(t, detail, schema).map(({ label, value }) => ({
        label: asRead(label),
        value: asRead(value),
      })),
    };
  });
}

/** Line breaks and tabs are white space on a page. */
function asRead(text: string): string {
  return text
    .toWellFormed()
    .replace(
      /[^\P{Cc}\t\n\r]|\p{Bidi_Control}/gu,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
}

function describeMembers(t: Translate, { type: _, ...members }: AuthorizationDetail, schema: unknown) {
  return Object.entries(members).flatMap(([name, value]) =>
    describeMember(t, name, value, propertyOf(schema, name), 1),
  );
}

function describeMember(
  t: Translate,
  name: string,
  value: unknown,
  schema: unknown,
  depth: number,
): DescribedDetail["members"] {
  return describeValue(t, labelOf(t, name, schema, depth === 1), value, schema, depth);
}

function describeValue(
  t: Translate,
  label: string,
  value: unknown,
  schema: unknown,
  depth: number,
): DescribedDetail["members"] {
  const amount = amountOf(t, value);
  if (amount !== undefined) return [{ label, value: amount }];
  if (depth >= deepest || (!isJsonObject(value) && !hasObjects(value))) return [{ label, value: textOf(value) }];
  if (Array.isArray(value)) {
    const items = isJsonObject(schema) ? schema["items"] : undefined;
    return value.flatMap((each, index) => describeValue(t, `${label} ${index + 1}`, each, items, depth + 1));
  }
  return Object.entries(value as object).flatMap(([inner, each]) =>
    describeMember(t, inner, each, propertyOf(schema, inner), depth + 1).map((member) => ({
      label: `${label}: ${member.label}`,
      value: member.value,
    })),
  );
}

function hasObjects(value: unknown): boolean {
  return Array.isArray(value) && value.some(isJsonObject);
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || hasObjects(value)) return JSON.stringify(value);
  return value.map(textOf).join(", ");
}

/**
 * An object of a currency and an amount alone, as in RFC 9396 §2. Every digit is shown, and the currency by its code, since several have the same
 * sign.
 */
function amountOf({ language }: Translate, value: unknown): string | undefined {
  if (!isJsonObject(value) || Object.keys(value).length !== 2) return undefined;
  const { currency, amount = value["value"] } = value;
  if (typeof currency !== "string" || !/^[A-Z]{3}$/.test(currency)) return undefined;
  const decimal = typeof amount === "string" ? /^-?\d{1,15}(?:\.(\d{1,8}))?$/.exec(amount) : null;
  if (decimal === null) return undefined;
  const count = decimal[1]?.length ?? 0;
  const digits = { minimumFractionDigits: count, maximumFractionDigits: count };
  const format = new Intl.NumberFormat(language, { style: "currency", currency, currencyDisplay: "code", ...digits });
  // The page isolates it; a mark of direction of the format would be shown as what a client has hidden.
  return format.format(decimal[0] as `${number}`).replace(/\p{Bidi_Control}/gu, "");
}

/** The `title` of the schema, as `title#de` in another language, a text of this provider, or the words of the name, capitalized like other labels. */
function labelOf(t: Translate, name: string, schema: unknown, beginsLine: boolean): string {
  const title = isJsonObject(schema) ? (textFor(titlesOf(schema), t.language) ?? schema["title"]) : undefined;
  if (typeof title === "string") return title;
  const known = labelled.find((each) => each === name);
  if (known !== undefined) return t(`detail.${known}`);
  const words = name
    .replaceAll("_", " ")
    // Abbreviations stay as they are.
    .replace(/([a-z])([A-Z])(?=[a-z])/g, (_, end: string, begin: string) => `${end} ${begin.toLowerCase()}`)
    .replace(/([a-z])([A-Z])/g, "$1 $2");
  return beginsLine ? words.charAt(0).toUpperCase() + words.slice(1) : words;
}

/** By language tag. */
function titlesOf(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const titles = Object.entries(schema).filter(([name]) => name.startsWith("title#"));
  return Object.fromEntries(titles.map(([name, title]) => [name.slice("title#".length), title]));
}

function propertyOf(schema: unknown, name: string): unknown {
  const properties = isJsonObject(schema) ? schema["properties"] : undefined;
  return isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}
