/**
 * **A user in a file**: one line of JSON, the same for import and export, with credentials. Times are seconds since the epoch.
 *
 * @see docs/operating/import.md
 */

import { decodeBase32, decodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { plainText } from "@edge-op/shared/http/plain-text";
import { findCostFault } from "@edge-op/shared/secrets/hash-cost";
import { readHash } from "@edge-op/shared/secrets/stored-hash";
import { claimsSchema } from "@edge-op/shared/users/claims-schema";
import {
  longestMemberSub,
  mostMemberRoles,
  mostMemberships,
  organizationIdPattern,
} from "@edge-op/shared/users/organizations";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import * as z from "zod";
import { rbacNames } from "../roles/role-schema.ts";
import { agreementSchema, status, subPattern, subRule, username } from "../users/user-schema.ts";

const seconds = z.int().min(0).max(4_102_444_800);
const used = { created_at: seconds.exactOptional(), last_used_at: seconds.exactOptional() };

function base64url(leastBytes: number, mostBytes: number) {
  return z.string().refine((text) => {
    const bytes = decodeBase64Url(text);
    return bytes !== undefined && bytes.length >= leastBytes && bytes.length <= mostBytes;
  }, `must be base64url of ${leastBytes} to ${mostBytes} bytes`);
}

const passwordHash = z
  .string()
  .max(1024)
  .superRefine((text, issues) => {
    const hash = readHash(text);
    const fault = typeof hash === "string" ? hash : findCostFault(hash);
    if (fault !== undefined) issues.addIssue({ code: "custom", message: fault });
  })
  .describe("A hash of scrypt, PBKDF2, argon2id or bcrypt. The first sign-in replaces it.");

const passkey = z.strictObject({
  // WebAuthn §5.8.3: an id has at most 1023 bytes.
  credential_id: base64url(1, 1023),
  public_key: base64url(16, 2048).describe("The COSE key (RFC 9053)."),
  sign_count: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .exactOptional(),
  transports: z.array(plainText(32)).max(10).exactOptional(),
  backed_up: z.boolean().exactOptional(),
  name: plainText(64).exactOptional(),
  own: z
    .boolean()
    .exactOptional()
    .describe("It was registered at an Edge OP with the same sub, whose user handle it has."),
  ...used,
});

const app = z.strictObject({
  secret: z
    .string()
    .max(256)
    .refine((text) => {
      const bytes = decodeBase32(text);
      return bytes !== undefined && bytes.length >= 10 && bytes.length <= 128;
    }, "must be base32 of 10 to 128 bytes")
    .meta({ format: "password" })
    .describe("Base32, of SHA-1, six digits and 30 seconds (RFC 6238)."),
  ...used,
});

const recoveryCodes = z.strictObject({
  hashes: base64url(128, 128).describe("As an export of Edge OP has them."),
  used: z.int().min(0).max(255),
  created_at: seconds.exactOptional(),
});

const identity = z.strictObject({
  upstream_id: z.string().min(1).max(64),
  issuer: z.string().min(1).max(255).exactOptional().describe("By default that of the upstream provider."),
  subject: plainText(255),
  label: plainText(320).exactOptional(),
  ...used,
});

const membership = z.strictObject({
  org_id: z.string().regex(organizationIdPattern),
  status: status.exactOptional(),
  roles: rbacNames.max(mostMemberRoles).exactOptional(),
  joined_at: seconds.exactOptional(),
});

export const userLineSchema = z
  .strictObject({
    sub: z.string().regex(subPattern, subRule),
    username,
    status: status.exactOptional(),
    claims: claimsSchema.exactOptional(),
    roles: rbacNames.exactOptional(),
    groups: rbacNames.exactOptional(),
    password_hash: passwordHash.exactOptional(),
    password_until: seconds
      .exactOptional()
      .describe("The password is temporary: it works until then, and only to set another one."),
    passkeys: z.array(passkey).max(20).exactOptional(),
    totp: z.array(app).max(5).exactOptional(),
    recovery_codes: recoveryCodes.exactOptional(),
    identities: z.array(identity).max(20).exactOptional(),
    memberships: z.array(membership).max(mostMemberships).exactOptional().describe("Of organisations that exist."),
    terms: agreementSchema.exactOptional(),
    created_at: seconds.exactOptional(),
    updated_at: seconds.exactOptional(),
  })
  .superRefine(({ sub, memberships = [] }, issues) => {
    if (memberships.length === 0 || sub.length <= longestMemberSub) return;
    issues.addIssue({
      code: "custom",
      path: ["sub"],
      message: `of a member has at most ${longestMemberSub} characters`,
    });
  })
  .superRefine(({ claims }, issues) => {
    if (claims?.email_verified !== true || claims.email === undefined) return;
    if (parseEmailAddress(claims.email) !== undefined) return;
    issues.addIssue({ code: "custom", path: ["claims", "email"], message: "is no address that can be verified" });
  })
  .meta({
    id: "UserLine",
    examples: [
      {
        ...{ sub: "auth0|5f7c8ec7c33c6c004bbafe82", username: "ann", status: "active" },
        claims: { name: "Ann Example", email: "ann@example.com", email_verified: true },
        ...{ roles: [], groups: [] },
        password_hash: "$2b$10$LcAJpQOdb9oREr9YKdrWNeeNgc4uAOIhmn/hoQop46xA8C2DhJI7y",
        identities: [{ upstream_id: "google", issuer: "https://accounts.google.com", subject: "1122334455" }],
        ...{ created_at: 1795000000, updated_at: 1795000000 },
      },
    ],
  });

export type UserLine = z.output<typeof userLineSchema>;
