import { isWebUri } from "@edge-op/protocol/oauth/uris";
import * as z from "zod";
import { isPlainText } from "../http/is-plain-text.ts";
import { plainText, visibleText } from "../http/plain-text.ts";

const webUri = z.string().max(2048).refine(isWebUri, "must be an https URL").meta({ format: "uri" });

/**
 * **The claims of a user**, in the spelling of OIDC Core.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims
 */
export const claimsSchema = z
  .strictObject({
    name: visibleText(255),
    given_name: visibleText(255),
    family_name: visibleText(255),
    middle_name: visibleText(255),
    nickname: visibleText(255),
    preferred_username: visibleText(255),
    profile: webUri,
    picture: webUri,
    website: webUri,
    email: z
      .string()
      .max(320)
      .regex(/^[^\s@]+@[^\s@]+$/, "must be an e-mail address")
      .refine(isPlainText, "must be an e-mail address"),
    email_verified: z.boolean(),
    gender: plainText(64),
    birthdate: z.string().regex(/^(\d{4}|\d{4}-\d{2}-\d{2})$/, "must be YYYY-MM-DD or YYYY"),
    zoneinfo: plainText(64),
    locale: plainText(64),
    phone_number: plainText(64),
    phone_number_verified: z.boolean(),
    address: z
      .strictObject({
        formatted: z
          .string()
          .min(1)
          .max(1000)
          .refine(isAddressText, "must not contain control characters except line breaks"),
        street_address: z
          .string()
          .min(1)
          .max(500)
          .refine(isAddressText, "must not contain control characters except line breaks"),
        locality: plainText(255),
        region: plainText(255),
        postal_code: plainText(64),
        country: plainText(255),
      })
      .exactPartial(),
    updated_at: z.int().min(0).describe("Seconds since the epoch; set by every change of the claims unless given."),
  })
  .exactPartial();

/** The value of a claim, if it is valid. */
export function readClaim(name: string, value: unknown): unknown {
  const schema: z.ZodType | undefined = Object.entries(claimsSchema.shape).find(([each]) => each === name)?.[1];
  const parsed = schema?.safeParse(value);
  return parsed?.success === true ? parsed.data : undefined;
}

/** OIDC Core §5.1.1: an address may have several lines. */
function isAddressText(text: string): boolean {
  return isPlainText(text.replace(/\r?\n/g, " "));
}
