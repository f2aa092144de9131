import { isWebUri } from "@edge-op/protocol/oauth/uris";
import { isPlainText, plainText } from "@edge-op/shared/http/plain-text";
import { mostPasswordCharacters } from "@edge-op/shared/secrets/password-policy";
import type { UserClaims } from "@edge-op/shared/users/user";
import { canonicalUsername, findUsernameFault } from "@edge-op/shared/users/username";
import * as z from "zod";
import { mergePatchOf } from "../admin/merge-patch.ts";
import { nextCursor, pageQuery } from "../admin/paging.ts";
import { rbacNames } from "../roles/role-schema.ts";

/**
 * **The schema of a user**: claims (OIDC Core §5.1), roles and groups, and credentials.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims
 */
export const subPattern = /^[A-Za-z0-9][A-Za-z0-9._~:@|-]{0,254}$/;

const webUri = z.string().max(2048).refine(isWebUri, "must be an https URL").meta({ format: "uri" });

const claimMembers = {
  name: plainText(255),
  given_name: plainText(255),
  family_name: plainText(255),
  middle_name: plainText(255),
  nickname: plainText(255),
  preferred_username: plainText(255),
  profile: webUri,
  picture: webUri,
  website: webUri,
  email: z
    .string()
    .max(320)
    .regex(/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u, "must be an e-mail address")
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
      formatted: z.string().min(1).max(1000).refine(isAddressText, "must not hold control characters but line ends"),
      street_address: z
        .string()
        .min(1)
        .max(500)
        .refine(isAddressText, "must not hold control characters but line ends"),
      locality: plainText(255),
      region: plainText(255),
      postal_code: plainText(64),
      country: plainText(255),
    })
    .partial(),
  updated_at: z.int().min(0).describe("Seconds since the epoch; set by every change of the claims unless given."),
} satisfies Record<keyof UserClaims, z.ZodType>;

/** OIDC Core §5.1.1: an address may have several lines. */
function isAddressText(text: string): boolean {
  return isPlainText(text.replace(/\r?\n/g, " "));
}

export const claimsSchema = z.strictObject(claimMembers).partial();

/** In its stored form: two usernames that look the same must not be two users (RFC 8265 §3.4). */
const username = z
  .string()
  .min(1)
  .max(255)
  .superRefine((text, issues) => {
    const message =
      findUsernameFault(text) ?? (canonicalUsername(text) === undefined ? "is no username (RFC 8265)" : "");
    if (text !== "" && message !== "") issues.addIssue({ code: "custom", message });
  });
const status = z.enum(["active", "suspended"]);

/** The rules are those of the policy, which knows the user: see {@link requireAcceptablePassword}. */
const password = z
  .string()
  .max(4 * mostPasswordCharacters)
  .meta({ format: "password", writeOnly: true })
  .describe(
    `\`PASSWORD_MIN\` to ${mostPasswordCharacters} characters; not a common password, the user's own words or a sequence.`,
  );

/** The members that an operator may write. */
export const writableUser = z
  .strictObject({ username, status, claims: claimsSchema, roles: rbacNames, groups: rbacNames, password })
  .partial();

export const userCreateSchema = writableUser
  .required({ username: true })
  .extend({
    sub: z
      .string()
      .regex(subPattern, "must be 1 to 255 letters, digits or ._~:@|- and begin with a letter or digit")
      .optional()
      .describe("Chosen by the server unless given. For ever: it is what relying parties know the person by."),
  })
  .meta({ id: "UserCreate" });

/** A patch may omit the status or set it, but not remove it, because that would reactivate a suspended user unnoticed. */
export const userPatchSchema = mergePatchOf(writableUser)
  .extend({ status: status.optional() })
  .meta({ id: "UserPatch" });

export const userSchema = z
  .strictObject({
    sub: z.string(),
    username: z.string(),
    status,
    claims: claimsSchema,
    roles: z.array(z.string()),
    groups: z.array(z.string()),
    has_password: z.boolean(),
    created_at: z.int().describe("Seconds since the epoch."),
    updated_at: z.int().describe("Seconds since the epoch."),
  })
  .meta({ id: "User" });

export const userListSchema = z
  .strictObject({ users: z.array(userSchema), next_cursor: nextCursor })
  .meta({ id: "UserList" });

export const userListQuery = pageQuery.extend({
  status: status.optional(),
  username: z.string().max(255).optional().describe("The one user of this name, in any spelling of it (RFC 8265)."),
});
