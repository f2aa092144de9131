import { decodeBase64Url, encodeBase32 } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { log } from "@edge-op/shared/runtime/log";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { openSealed } from "@edge-op/shared/secrets/seal";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { claimsSchema } from "@edge-op/shared/users/claims-schema";
import { factorSeal } from "@edge-op/shared/users/factors";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { exampleOf } from "../admin/examples.ts";
import { cutPage, nextCursor, pageQuery, readCursor } from "../admin/list-page.ts";
import { type UserLine, userLineSchema } from "./import-schema.ts";

/** The rows of a list as one JSON text. */
function listed<Item extends z.ZodType>(item: Item) {
  return z
    .string()
    .transform((text) => JSON.parse(text) as unknown)
    .pipe(z.array(item));
}

const flag = z.union([z.literal(0), z.literal(1)]).transform((value) => value === 1);
const ms = z.number().transform(toSeconds);
const used = { created_at: ms, last_used_at: ms.nullable() };

const rowSchema = z.strictObject({
  sub: z.string(),
  username: z.string(),
  status: z.enum(["active", "suspended"]),
  claims: z
    .string()
    .transform((text) => JSON.parse(text) as unknown)
    .pipe(claimsSchema),
  created_at: ms,
  updated_at: ms,
  password_hash: z.string().nullable(),
  password_until: ms.nullable(),
  terms_version: z.string().nullable(),
  terms_accepted_at: ms.nullable(),
  roles: listed(z.string()),
  groups: listed(z.string()),
  passkeys: listed(
    z.strictObject({
      ...{ credential_id: z.string(), public_key: z.string(), sign_count: z.number(), backed_up: flag },
      transports: listed(z.string()),
      ...{ name: z.string(), imported: flag },
      ...used,
    }),
  ),
  totp: listed(z.strictObject({ factor_id: z.string(), secret: z.string(), ...used })),
  recovery_codes: listed(z.strictObject({ hashes: z.string(), used: z.number(), created_at: ms })),
  identities: listed(
    z.strictObject({
      ...{ upstream_id: z.string(), issuer: z.string(), subject: z.string(), label: z.string() },
      ...used,
    }),
  ),
  memberships: listed(
    z.strictObject({
      ...{ org_id: z.string(), status: z.enum(["active", "suspended"]), roles: z.array(z.string()), joined_at: ms },
    }),
  ),
});

const usedColumns = "'created_at', created_at_ms, 'last_used_at', last_used_at_ms";

function rowsOf(table: string, members: string): string {
  return `(SELECT json_group_array(json_object(${members})) FROM (SELECT * FROM ${table} WHERE sub = u.sub ORDER BY created_at_ms))`;
}

/** A page of users with everything that an import can restore, in one query. */
const selectPage = `SELECT u.sub, u.username, u.status, u.claims, u.created_at_ms AS created_at, u.updated_at_ms AS updated_at,
    u.terms_version, u.terms_accepted_at_ms AS terms_accepted_at,
    (SELECT hash FROM user_passwords WHERE sub = u.sub) AS password_hash,
    (SELECT temporary_until_ms FROM user_passwords WHERE sub = u.sub) AS password_until,
    (SELECT json_group_array(role ORDER BY role) FROM user_roles WHERE sub = u.sub) AS roles,
    (SELECT json_group_array(group_name ORDER BY group_name) FROM user_groups WHERE sub = u.sub) AS groups,
    ${rowsOf(
      "webauthn_credentials",
      `'credential_id', credential_id, 'public_key', public_key, 'sign_count', sign_count, 'transports', transports,
       'backed_up', backed_up, 'name', name, 'imported', imported, ${usedColumns}`,
    )} AS passkeys,
    ${rowsOf("user_totp", `'factor_id', factor_id, 'secret', secret, ${usedColumns}`)} AS totp,
    ${rowsOf("user_recovery_codes", "'hashes', hashes, 'used', used, 'created_at', created_at_ms")} AS recovery_codes,
    ${rowsOf("user_identities", `'upstream_id', upstream_id, 'issuer', issuer, 'subject', subject, 'label', label, ${usedColumns}`)} AS identities,
    (SELECT json_group_array(json_object('org_id', org_id, 'status', status, 'joined_at', joined_at_ms, 'roles', json((SELECT json_group_array(role ORDER BY role)
       FROM membership_roles r WHERE r.sub = m.sub AND r.org_id = m.org_id))) ORDER BY org_id) FROM memberships m WHERE m.sub = u.sub) AS memberships
  FROM users u WHERE u.sub > ?1 ORDER BY u.sub LIMIT ?2`;

const exportSchema = z
  .strictObject({
    users: z.array(userLineSchema).describe("In the order of their subs, in the form of an import."),
    next_cursor: nextCursor,
    unreadable: z
      .array(z.string())
      .describe("Subs of users with an authenticator app that is not exported, because its secret does not open."),
  })
  .meta({ id: "UserLines", examples: [{ users: [exampleOf(userLineSchema)], unreadable: [] }] });

const exportUsers = defineRoute({
  method: "GET",
  path: "/export/users",
  operationId: "exportUsers",
  summary:
    "Exports users with their credentials, a page at a time, in the form of an import: password hashes, passkeys, and the secrets of authenticator apps. Each page is in the audit log. It contains no sessions, consents and grants.",
  scope: "admin:export",
  query: pageQuery,
  response: { status: 200, description: "A page of users.", schema: exportSchema },
  async handle(call) {
    const { env } = call.context;
    const { limit, cursor } = call.query;
    const after = readCursor(cursor);
    await commitChange(call, {
      statements: [],
      forget: [],
      event: { action: "export.users", target: after, detail: { limit } },
    });
    const statement = peopleOf(env.DB)
      .prepare(selectPage)
      .bind(after, limit + 1);
    const { results } = await queryDatabase(() => statement.all());
    const { page, next } = cutPage(z.array(rowSchema).parse(results), limit, ({ sub }) => sub);
    const shown = await Promise.all(page.map((row) => toLine(call.context, row)));
    return {
      body: {
        users: shown.map(({ line }) => line),
        ...next,
        unreadable: shown.flatMap(({ line, isComplete }) => (isComplete ? [] : [line.sub])),
      },
    };
  },
});

interface Opening {
  readonly env: MasterKeyBindings;
  readonly requestId: string;
}

async function toLine(
  { env, requestId }: Opening,
  {
    sub,
    password_hash: hash,
    password_until: until,
    terms_version: version,
    terms_accepted_at: acceptedAt,
    passkeys,
    totp,
    recovery_codes: codes,
    identities,
    memberships,
    ...row
  }: z.output<typeof rowSchema>,
): Promise<{ readonly line: UserLine; readonly isComplete: boolean }> {
  const apps = await Promise.all(
    totp.map(async ({ factor_id: id, secret, ...times }) => {
      const opened = await openSealed(env, "factor-seal", secret, factorSeal(sub, id));
      const bytes = opened === undefined ? undefined : decodeBase64Url(opened);
      if (bytes === undefined) log("factor-not-opened", { sub, requestId });
      return bytes === undefined ? [] : [{ secret: encodeBase32(bytes), ...withoutNull(times) }];
    }),
  );
  const [set] = codes;
  const line = {
    sub,
    ...row,
    ...(hash === null ? {} : { password_hash: hash }),
    ...(until === null ? {} : { password_until: until }),
    ...(version === null || acceptedAt === null ? {} : { terms: { version, accepted_at: acceptedAt } }),
    passkeys: passkeys.map(({ imported, ...passkey }) => ({ ...withoutNull(passkey), own: !imported })),
    totp: apps.flat(),
    ...(set === undefined ? {} : { recovery_codes: set }),
    identities: identities.map((identity) => withoutNull(identity)),
    // A release without organisations imports no line that has them.
    ...(memberships.length === 0 ? {} : { memberships }),
  };
  return { line, isComplete: apps.flat().length === totp.length };
}

function withoutNull<Times extends { readonly last_used_at: number | null }>({
  last_used_at: usedAt,
  ...others
}: Times) {
  return { ...others, ...(usedAt === null ? {} : { last_used_at: usedAt }) };
}

/** Cost: 2 D1 calls a page. */
export const exportRoutes: readonly AdminRoute[] = [exportUsers];
