import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { ScimError } from "./scim-error.ts";

export const userSchema = "urn:ietf:params:scim:schemas:core:2.0:User";
export const groupSchema = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const enterpriseSchema = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/** `complex` has parts; `list` is a multi-valued complex attribute. */
export interface Attribute {
  readonly kind: "text" | "boolean" | "complex" | "list";
  readonly parts?: Attributes;
}
export type Attributes = Readonly<Record<string, Attribute>>;
/** A document without prototype, of attributes of its schema only. */
export type Document = Record<string, unknown>;

const text = { kind: "text" } as const;
const texts = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, text]));
const values = { kind: "list", parts: { ...texts("value", "display", "type"), primary: { kind: "boolean" } } } as const;
const addressParts = texts("formatted", "streetAddress", "locality", "region", "postalCode", "country", "type");

/**
 * **What is stored of a user**: an allow-list, without `password` (RFC 7643 §4.1, §4.3). Reading a body, PATCH and `/Schemas` derive from it.
 * `roles` and `entitlements` are kept for the directory, and give nothing.
 */
export const userAttributes: Attributes = {
  ...texts("userName", "externalId", "displayName", "nickName", "profileUrl", "title", "userType"),
  ...texts("preferredLanguage", "locale", "timezone"),
  active: { kind: "boolean" },
  name: {
    kind: "complex",
    parts: texts("formatted", "familyName", "givenName", "middleName", "honorificPrefix", "honorificSuffix"),
  },
  ...{ emails: values, phoneNumbers: values, ims: values, photos: values, entitlements: values, roles: values },
  addresses: { kind: "list", parts: { ...addressParts, primary: { kind: "boolean" } } },
  [enterpriseSchema]: {
    kind: "complex",
    parts: {
      ...texts("employeeNumber", "costCenter", "organization", "division", "department"),
      manager: { kind: "complex", parts: texts("value", "$ref", "displayName") },
    },
  },
};

export const groupAttributes: Attributes = {
  ...texts("externalId", "displayName"),
  members: { kind: "list", parts: texts("value", "$ref") },
};

const longestText = 1_024;
const mostValues = 50;

/** The attribute of a name, which SCIM compares without case (RFC 7643 §2.1). */
export function findAttribute(attributes: Attributes, name: string): readonly [string, Attribute] | undefined {
  const lower = name.toLowerCase();
  return Object.entries(attributes).find(([known]) => known.toLowerCase() === lower);
}

/** A member by its name without case. */
export function memberOf(body: JsonObject, name: string): unknown {
  const lower = name.toLowerCase();
  return Object.entries(body).find(([known]) => known.toLowerCase() === lower)?.[1];
}

export function emptyDocument(): Document {
  return Object.create(null) as Document;
}

/** The attributes of a body that the schema has; others are ignored (RFC 7644 §3.3). Never a member of a prototype. */
export function readDocument(attributes: Attributes, body: JsonObject): Document {
  const document = emptyDocument();
  for (const [given, raw] of Object.entries(body)) {
    const found = findAttribute(attributes, given);
    if (found === undefined) continue;
    const value = readValue(found[1], raw, found[0]);
    if (value !== undefined) document[found[0]] = value;
  }
  return document;
}

/** A value in the form of its attribute; `undefined` for one that says nothing. Forms of directories that RFC 7643 lacks are in dialects.ts. */
export function readValue(attribute: Attribute, raw: unknown, name: string): unknown {
  if (raw === null || raw === undefined) return undefined;
  switch (attribute.kind) {
    case "text": {
      if (typeof raw !== "string" && typeof raw !== "number") throw invalidValue(name, "is a string");
      const value = String(raw);
      if (value.length > longestText) throw invalidValue(name, `has at most ${longestText} characters`);
      return value === "" ? undefined : value;
    }
    case "boolean":
      return readBoolean(raw, name);
    case "complex": {
      // A manager as a string: Entra, Okta.
      const parts = isJsonObject(raw) ? readDocument(attribute.parts!, raw) : readAlone(attribute, raw, name);
      return Object.keys(parts).length === 0 ? undefined : parts;
    }
    case "list": {
      const elements = (Array.isArray(raw) ? raw : [raw]).map((each: unknown) =>
        isJsonObject(each) ? readDocument(attribute.parts!, each) : readAlone(attribute, each, name),
      );
      const said = elements.filter((each) => Object.keys(each).length > 0);
      if (said.length > mostValues) throw invalidValue(name, `has at most ${mostValues} values`);
      return said.length === 0 ? undefined : said;
    }
  }
}

function readAlone(attribute: Attribute, raw: unknown, name: string): Document {
  const part = attribute.parts?.["value"];
  if (part === undefined || typeof raw !== "string") throw invalidValue(name, "is an object");
  return Object.assign(emptyDocument(), { value: readValue(part, raw, name) });
}

/** Entra without its flag, and JumpCloud, send "True" and "False". */
function readBoolean(raw: unknown, name: string): boolean {
  if (typeof raw === "boolean") return raw;
  const lower = typeof raw === "string" ? raw.toLowerCase() : "";
  if (lower !== "true" && lower !== "false") throw invalidValue(name, "is true or false");
  return lower === "true";
}

export function invalidValue(name: string, what: string): ScimError {
  return new ScimError(400, `${name} ${what}.`, "invalidValue");
}

/** The address of filters: the primary one, or the first. */
export function primaryEmail(document: Document): string | undefined {
  const emails = (document["emails"] ?? []) as readonly Document[];
  const value = (emails.find((each) => each["primary"] === true) ?? emails[0])?.["value"];
  return typeof value === "string" ? value : undefined;
}
