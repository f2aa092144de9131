import { decodeBase32, encodeBase64Url, randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { keyFingerprint } from "@edge-op/shared/secrets/deployment-facts";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { sealText } from "@edge-op/shared/secrets/seal";
import { peopleOf } from "@edge-op/shared/storage/people";
import { factorSeal } from "@edge-op/shared/users/factors";
import { searchSource, wordsOf } from "@edge-op/shared/users/search-words";
import { storedSpelling } from "@edge-op/shared/users/user-addresses";
import type { PreparedLine } from "./check-lines.ts";

type Row = Readonly<Record<string, string | number | null>>;

/** The columns of each table that an import writes, in the order of their dependence. Columns that are not named have their defaults. */
const columns = {
  users: [
    ...["sub", "username", "username_key", "status", "claims", "created_at_ms", "updated_at_ms", "searched"],
    ...["terms_version", "terms_accepted_at_ms"],
  ],
  user_search: ["word", "sub"],
  user_addresses: ["address_key", "sub", "address", "verified_at_ms"],
  user_roles: ["sub", "role"],
  user_groups: ["sub", "group_name"],
  user_passwords: ["sub", "hash", "updated_at_ms", "temporary_until_ms"],
  webauthn_credentials: [
    ...["credential_id", "sub", "public_key", "sign_count", "transports", "backed_up", "name"],
    ...["created_at_ms", "last_used_at_ms", "imported"],
  ],
  user_totp: ["sub", "factor_id", "secret", "sealed_by", "last_step", "created_at_ms", "last_used_at_ms"],
  user_recovery_codes: ["sub", "set_id", "hashes", "used", "created_at_ms"],
  user_identities: ["upstream_id", "issuer", "subject", "sub", "label", "created_at_ms", "last_used_at_ms"],
  memberships: ["sub", "org_id", "status", "source", "joined_at_ms", "updated_at_ms"],
  membership_roles: ["sub", "org_id", "role"],
} as const;

type Table = keyof typeof columns;
type Rows = Readonly<Record<Table, readonly Row[]>>;

/**
 * **Statements that insert the users of a batch with everything they have**, one for each table, whatever the number of users. They fail, with their
 * transaction, if a name was taken meanwhile. Secrets of apps are sealed.
 */
export async function insertLines(
  env: MasterKeyBindings & { readonly DB: D1Database },
  lines: readonly PreparedLine[],
  atMs: number,
): Promise<readonly D1PreparedStatement[]> {
  const sealedBy = (await keyFingerprint(env.OP_MASTER_KEY)) ?? "";
  const each = await Promise.all(lines.map((line) => rowsOf(env, line, { atMs, sealedBy })));
  const tables = (Object.keys(columns) as Table[]).map((table) => ({
    table,
    rows: each.flatMap((rows) => rows[table]),
  }));
  const insertions = tables.filter(({ rows }) => rows.length > 0).map(({ table, rows }) => insert(env.DB, table, rows));
  return [endHeld(env.DB, lines, atMs), ...insertions, refuseTaken(env.DB, lines)];
}

function insert(database: D1Database, table: Table, rows: readonly Row[]): D1PreparedStatement {
  const names = columns[table];
  const values = names.map((name) => `value ->> '${name}'`);
  return peopleOf(database)
    .prepare(`INSERT INTO ${table} (${names.join(", ")}) SELECT ${values.join(", ")} FROM json_each(?1)`)
    .bind(JSON.stringify(rows));
}

/** Addresses that are no longer held. */
function endHeld(database: D1Database, lines: readonly PreparedLine[], atMs: number): D1PreparedStatement {
  const keys = lines.flatMap(({ address }) => (address === undefined ? [] : [address.key]));
  return peopleOf(database)
    .prepare(
      "DELETE FROM user_addresses WHERE address_key IN (SELECT value FROM json_each(?1)) AND held_until_ms <= ?2",
    )
    .bind(JSON.stringify(keys), atMs);
}

/** Fails if, since the check, a sub became a client's or was retired, or a name became somebody else's address, or the reverse. */
function refuseTaken(database: D1Database, lines: readonly PreparedLine[]): D1PreparedStatement {
  const rows = lines.map(({ line, nameKey, address, retiredHash }) => ({
    ...{ sub: line.sub, name: nameKey ?? null, address: address?.key ?? null, hash: retiredHash },
  }));
  return peopleOf(database)
    .prepare(
      `UPDATE users SET claims = NULL WHERE sub IN (
         SELECT j.value ->> 'sub' FROM json_each(?1) j
          WHERE EXISTS (SELECT 1 FROM clients WHERE client_id = j.value ->> 'sub')
             OR EXISTS (SELECT 1 FROM retired_subs WHERE hash = unhex(j.value ->> 'hash'))
             OR EXISTS (SELECT 1 FROM user_addresses WHERE address_key = j.value ->> 'name' AND sub <> j.value ->> 'sub')
             OR EXISTS (SELECT 1 FROM users WHERE username_key = j.value ->> 'address' AND sub <> j.value ->> 'sub'))`,
    )
    .bind(JSON.stringify(rows));
}

interface Arrival {
  readonly atMs: number;
  readonly sealedBy: string;
}

async function rowsOf(env: MasterKeyBindings, prepared: PreparedLine, { atMs, sealedBy }: Arrival): Promise<Rows> {
  const { line, address, identities } = prepared;
  const { sub, username, status = "active", claims = {}, recovery_codes: codes, terms, memberships = [] } = line;
  const source = searchSource({ sub, username, claims });
  const createdMs = toMs(line.created_at) ?? atMs;
  const updatedMs = Math.max(createdMs, toMs(line.updated_at) ?? createdMs);
  const times = (used: { readonly created_at?: number; readonly last_used_at?: number }) => ({
    created_at_ms: toMs(used.created_at) ?? createdMs,
    last_used_at_ms: toMs(used.last_used_at) ?? null,
  });
  const text = JSON.stringify({ updated_at: toSeconds(updatedMs), ...claims });
  const apps = (line.totp ?? []).map(async (app) => {
    const factorId = randomBase64Url(16);
    const secret = encodeBase64Url(decodeBase32(app.secret)!);
    const sealed = await sealText(env, "factor-seal", secret, { bound: factorSeal(sub, factorId) });
    return { sub, factor_id: factorId, secret: sealed, sealed_by: sealedBy, last_step: 0, ...times(app) };
  });
  return {
    users: [
      {
        ...{ sub, username, username_key: prepared.usernameKey, status, claims: text },
        ...{ created_at_ms: createdMs, updated_at_ms: updatedMs, searched: JSON.stringify(source) },
        ...{ terms_version: terms?.version ?? null, terms_accepted_at_ms: toMs(terms?.accepted_at) ?? null },
      },
    ],
    user_search: wordsOf(source).map((word) => ({ word, sub })),
    user_addresses:
      address === undefined
        ? []
        : [{ address_key: address.key, sub, address: storedSpelling(address), verified_at_ms: createdMs }],
    user_roles: (line.roles ?? []).map((role) => ({ sub, role })),
    user_groups: (line.groups ?? []).map((group) => ({ sub, group_name: group })),
    user_passwords:
      line.password_hash === undefined
        ? []
        : [
            {
              ...{ sub, hash: line.password_hash, updated_at_ms: updatedMs },
              temporary_until_ms: toMs(line.password_until) ?? null,
            },
          ],
    webauthn_credentials: (line.passkeys ?? []).map((passkey) => ({
      ...{ credential_id: passkey.credential_id, sub, public_key: passkey.public_key },
      ...{ sign_count: passkey.sign_count ?? 0, transports: JSON.stringify(passkey.transports ?? []) },
      ...{ backed_up: passkey.backed_up === true ? 1 : 0, name: passkey.name ?? "Passkey" },
      ...{ ...times(passkey), imported: passkey.own === true ? 0 : 1 },
    })),
    user_totp: await Promise.all(apps),
    user_recovery_codes:
      codes === undefined
        ? []
        : [{ sub, set_id: randomBase64Url(16), hashes: codes.hashes, used: codes.used, created_at_ms: createdMs }],
    user_identities: identities.map((identity) => ({
      ...{ upstream_id: identity.upstream_id, issuer: identity.issuer, subject: identity.subject, sub },
      ...{ label: identity.label ?? identity.subject, ...times(identity) },
    })),
    memberships: memberships.map((membership) => ({
      ...{ sub, org_id: membership.org_id, status: membership.status ?? "active", source: "import" },
      ...{ joined_at_ms: toMs(membership.joined_at) ?? createdMs, updated_at_ms: atMs },
    })),
    membership_roles: memberships.flatMap(({ org_id, roles = [] }) => roles.map((role) => ({ sub, org_id, role }))),
  };
}

function toMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}
