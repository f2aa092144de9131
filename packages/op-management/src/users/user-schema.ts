/** **Requests and responses of `/admin/users`**: claims, roles and groups, and credentials. */

import { mostPasswordCharacters } from "@edge-op/shared/secrets/password-policy";
import { attributeValuesSchema } from "@edge-op/shared/users/attribute-schema";
import { claimsSchema } from "@edge-op/shared/users/claims-schema";
import { canonicalUsername, findUsernameFault } from "@edge-op/shared/users/username";
import * as z from "zod";
import { type ListCondition, lowerAscii, textParameter } from "../admin/list-page.ts";
import { rbacNames } from "../roles/role-schema.ts";

export const subPattern = /^[A-Za-z0-9][A-Za-z0-9._~:@|/-]{0,254}$/;
export const subRule = "must be 1 to 255 letters, digits or ._~:@|/- and begin with a letter or digit";

/** In its stored form: two usernames that look the same must not belong to two users (RFC 8265 §3.4). */
export const username = z
  .string()
  .min(1)
  .max(255)
  .superRefine((text, issues) => {
    const message =
      findUsernameFault(text) ?? (canonicalUsername(text) === undefined ? "is no username (RFC 8265)" : "");
    if (text !== "" && message !== "") issues.addIssue({ code: "custom", message });
  });
export const status = z.enum(["active", "suspended"]);

/** The policy, which knows the user, checks the password: see {@link requireAcceptablePassword}. */
const password = z
  .string()
  .max(4 * mostPasswordCharacters)
  .meta({ format: "password", writeOnly: true, maxLength: mostPasswordCharacters })
  .describe(
    `\`PASSWORD_MIN\` to ${mostPasswordCharacters} characters; not a common password, the user's own words or a sequence.`,
  );

/** The members that an operator may write. */
export const writableUser = z
  .strictObject({
    username,
    status,
    claims: claimsSchema,
    attributes: attributeValuesSchema,
    roles: rbacNames,
    groups: rbacNames,
    password,
  })
  .partial();

export const userCreateSchema = writableUser
  .required({ username: true })
  .extend({
    sub: z
      .string()
      .regex(subPattern, subRule)
      .optional()
      .describe("Chosen by the server unless given. For ever: it is what relying parties know the person by."),
  })
  .meta({ id: "UserCreate" });

/** An agreement to the terms of service, as people give it and imports carry it. */
export const agreementSchema = z
  .strictObject({
    version: z.string().regex(/^[!-~]{1,32}$/, "must be 1 to 32 ASCII characters without spaces"),
    accepted_at: z.int().min(0).max(4_102_444_800).describe("Seconds since the epoch."),
  })
  .describe("The version of the terms of service that the person has agreed to, and when.");

export const userSchema = z
  .strictObject({
    sub: z.string(),
    username: z.string(),
    status,
    claims: claimsSchema,
    attributes: z.record(z.string(), z.unknown()).describe("Values of declared attributes."),
    roles: z.array(z.string()),
    groups: z.array(z.string()),
    has_password: z.boolean(),
    created_at: z.int().describe("Seconds since the epoch."),
    updated_at: z.int().describe("Seconds since the epoch."),
    deletes_at: z
      .int()
      .exactOptional()
      .describe("When the account is erased, because the person has asked for it. Seconds since the epoch."),
    terms: agreementSchema.exactOptional(),
  })
  .meta({
    id: "User",
    examples: [
      {
        ...{ sub: "u1cLmU5bGqTzqyG9bqk8Xyg", username: "ann", status: "active" },
        claims: { name: "Ann Example", email: "ann@example.com", email_verified: true, updated_at: 1795000000 },
        attributes: { cost_centre: "4711" },
        ...{ roles: ["editor"], groups: [], has_password: true, created_at: 1795000000, updated_at: 1795000000 },
      },
    ],
  });

export const userSearch = z
  .string()
  .min(1)
  .max(512)
  .optional()
  .describe(
    "The sub of a user, or words, each of which begins a name, the address or the username of one: `ann mul` finds Ánn Müller. Letters of either case and with marks are the same. A page may be short and have a next one.",
  );

export const userConditions = {
  status: { schema: status.optional().describe("Users with this status."), column: "status", match: "exact" },
  sub: { schema: textParameter("A user's sub."), column: "sub", match: "text" },
  username: {
    schema: textParameter("A username, in any spelling of it (RFC 8265)."),
    column: "username_key",
    match: "text",
    toStored: canonicalUsername,
  },
  email: {
    schema: textParameter("The claim `email`; a to z are A to Z."),
    column: "email_key",
    match: "text",
    toStored: lowerAscii,
  },
  name: {
    schema: textParameter("The claim `name`; a to z are A to Z."),
    column: "name_key",
    match: "text",
    toStored: lowerAscii,
  },
  terms: {
    schema: textParameter("The version of the terms of service that they have agreed to."),
    column: "terms_version",
    match: "text",
  },
} as const satisfies Readonly<Record<string, ListCondition>>;
