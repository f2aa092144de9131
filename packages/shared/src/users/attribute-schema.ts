import { isReservedClaim } from "@edge-op/protocol/oauth/reserved-claims";
import * as z from "zod";
import { has, plainText, scopeValue, textsByLanguage, visibleText, when } from "../http/plain-text.ts";
import { claimNamePattern, claimTokens, mayReleaseClaims } from "./claim-rules.ts";

/** The most characters of a text; a list has at most as many values as `mostValues`. */
const longestText = 1024;
const mostValues = 100;

const longestId = 255;

const attributeTypes = ["string", "number", "boolean", "strings"] as const;
const attributeFormats = ["date", "date-time", "email", "phone", "uri", "uuid"] as const;

/** The name of an attribute: a member of JSON documents. */
export const attributeName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, "must be 1 to 64 of a-z, 0-9 and _, and begin with a letter");

const claimSchema = z
  .strictObject({
    name: z
      .string()
      .regex(claimNamePattern, "must be 1 to 128 letters, digits or _.:/- and begin with a letter")
      .refine((name) => !isReservedClaim(name), "is a claim of this provider")
      .describe("The claim's name: a word, or a URL of yours that nobody else uses."),
    scope: scopeValue
      .refine(mayReleaseClaims, "releases no claims")
      .describe(
        "The scope value that releases the claim: one of this provider, of a resource, or a new one, which clients name in their `scope`.",
      ),
    tokens: z.array(z.enum(claimTokens)).min(1).max(claimTokens.length).describe("Where the claim is contained."),
    clients: z
      .array(z.string().min(1).max(longestId))
      .min(1)
      .max(20)
      .exactOptional()
      .describe("The only `client_id`s that get it."),
    resources: z
      .array(z.string().min(1).max(longestId))
      .min(1)
      .max(20)
      .exactOptional()
      .describe("The only values of `aud` of access tokens that contain it: a token for any other one does not."),
  })
  .meta({
    id: "MappedClaim",
    ...when(has("resources"), [{ properties: { tokens: { contains: { const: "access_token" } } } }]),
  });

/**
 * **The declaration of an attribute of users**: its type, the limits of its values, its words, and the claim to which it is mapped. Which members
 * belong together is checked where it is written.
 */
export const attributeDocumentSchema = z.strictObject({
  type: z.enum(attributeTypes).describe("`strings`: a list of texts. It cannot be changed."),
  title: visibleText(100).describe("As shown to people at consent."),
  titles: textsByLanguage(100).describe("The same in other languages, by language tag."),
  format: z.enum(attributeFormats).exactOptional().describe("The form of a text."),
  max_length: z.int().min(1).max(longestText).exactOptional().describe("Characters of a text; 255 by default."),
  values: z.array(plainText(255)).min(1).max(mostValues).exactOptional().describe("The only texts that are allowed."),
  max_items: z.int().min(1).max(mostValues).exactOptional().describe("Texts in a list; 20 by default."),
  minimum: z.number().exactOptional().describe("The least number."),
  maximum: z.number().exactOptional().describe("The greatest number."),
  claim: claimSchema.exactOptional().describe("The claim that has its value; absent: no client gets it."),
});

/** The values of a user, by the names of the attributes. Declarations limit them further. */
export const attributeValuesSchema = z
  .record(
    attributeName,
    z.union([
      z.string().max(longestText),
      z.number(),
      z.boolean(),
      z.array(z.string().max(longestText)).max(mostValues),
    ]),
  )
  .describe("Values of declared attributes (`/attributes`), 4 KiB of JSON in all.");
