import { isText, objectOf, readStored, recordOf, type Stored } from "@edge-op/protocol/encoding/stored-json";
import { isReservedClaim } from "@edge-op/protocol/oauth/reserved-claims";
import type * as z from "zod";
import { everyId, type StoredKind } from "../storage/record-kinds.ts";
import type { attributeDocumentSchema, attributeValuesSchema } from "./attribute-schema.ts";

/** The declaration of an attribute, in the spelling of the admin API, as stored in D1. */
export type AttributeDocument = Stored<z.output<typeof attributeDocumentSchema>>;
export type AttributeClaim = NonNullable<AttributeDocument["claim"]>;
/** The values of a user, by the names of attributes. */
export type UserAttributes = Stored<z.output<typeof attributeValuesSchema>>;

export const isAttributeDocument = objectOf<AttributeDocument>({
  type: isText<AttributeDocument["type"]>,
  title: isText,
});
export const isUserAttributes = recordOf((value): value is UserAttributes[string] => value !== null);

/** An attribute that is mapped to a claim: what tokens and pages need of its declaration. */
export interface MappedAttribute extends Pick<AttributeDocument, "type" | "title" | "titles"> {
  readonly attribute: string;
  readonly claim: AttributeClaim;
}

export interface MappedAttributes {
  readonly attributes: readonly MappedAttribute[];
}

/** A claim about a user with its value: a mapped attribute, or what a hook returned (hooks/find-hook-claims.ts). */
export interface MappedValue {
  readonly claim: AttributeClaim;
  readonly value: unknown;
}

/** The maximum size of all declarations as JSON, in characters: they form one copy. The admin API enforces it. */
export const mostDeclaredCharacters = 65_536;

/** The id of the record. */
export const attributesId = everyId;

/** All attributes that are mapped to claims: one record. */
export const storedAttributes: StoredKind<MappedAttributes> = {
  kind: "attributes",
  ttlSeconds: 3600,
  query: {
    statement: (database) =>
      database.prepare("SELECT name, document FROM attributes WHERE document ->> '$.claim' IS NOT NULL ORDER BY name"),
    read: (rows) => ({ attributes: (rows as readonly AttributeRow[]).flatMap(readMapped) }),
  },
};

interface AttributeRow {
  readonly name: string;
  readonly document: string;
}

function readMapped({ name: attribute, document: text }: AttributeRow): MappedAttribute[] {
  const { type, title, titles, claim } = readStored("attribute", text, isAttributeDocument);
  if (claim === undefined || isReservedClaim(claim.name)) return [];
  return [{ attribute, type, title, ...(titles === undefined ? {} : { titles }), claim }];
}

/** The values that are mapped to claims. A value of another type was written for an earlier declaration, and is left out. */
export function mappedValues(values: UserAttributes, { attributes }: MappedAttributes): MappedValue[] {
  return attributes.flatMap(({ attribute, type, claim }) => {
    const value = Object.hasOwn(values, attribute) ? values[attribute] : undefined;
    return value !== undefined && typeOf(value) === type ? [{ claim, value }] : [];
  });
}

function typeOf(value: UserAttributes[string]): string {
  return Array.isArray(value) ? "strings" : typeof value;
}

/** The recipient of a token or response, and the allowed access. */
interface ClaimRecipient {
  readonly clientId: string;
  readonly scope: readonly string[];
  /** Claims that were requested individually, and that the client's registered scope covers. */
  readonly requested?: readonly string[] | undefined;
  /** The audiences of an access token. */
  readonly audiences?: readonly string[];
}

/**
 * **The claims of a person's attributes that a token contains**, or the response of UserInfo: of the mappings for it, those whose scope value was
 * allowed or that were requested individually, for this client and all audiences.
 */
export function mappedClaims(
  mapped: readonly MappedValue[],
  token: AttributeClaim["tokens"][number],
  recipient: ClaimRecipient,
): Readonly<Record<string, unknown>> {
  const given = mapped.filter(({ claim }) => claim.tokens.includes(token) && isFor(claim, recipient));
  return Object.fromEntries(given.map(({ claim, value }) => [claim.name, value]));
}

function isFor(
  { name, scope, clients, resources }: AttributeClaim,
  { clientId, scope: allowed, requested = [], audiences = [] }: ClaimRecipient,
): boolean {
  if (!allowed.includes(scope) && !requested.includes(name)) return false;
  if (clients?.includes(clientId) === false) return false;
  return audiences.every((audience) => resources?.includes(audience) !== false);
}

/** The names among those of a `claims` parameter that are mapped and that the client's registered scope covers. */
export function coveredMappings(
  names: readonly string[],
  mapped: readonly { readonly claim: AttributeClaim }[],
  { clientId, registeredScope }: { readonly clientId: string; readonly registeredScope: readonly string[] },
): string[] {
  const recipient = { clientId, scope: registeredScope };
  const covered = mapped.filter(({ claim }) => names.includes(claim.name) && isFor(claim, recipient));
  return covered.map(({ claim }) => claim.name);
}
