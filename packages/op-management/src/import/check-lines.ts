import { hexOf } from "@edge-op/protocol/encoding/bytes";
import { isText, listOf, objectOf, readStored, requireForm } from "@edge-op/protocol/encoding/stored-json";
import type { FieldError } from "@edge-op/protocol/oauth/errors";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryAuditDatabase, queryDatabase } from "@edge-op/shared/storage/query-database";
import { fixedIssuers, isUpstreamDocument, type UpstreamDocument } from "@edge-op/shared/upstreams/upstream";
import { type RetirementBindings, retiredHash } from "@edge-op/shared/users/retired-subs";
import { parseEmailAddress, verifiedAddress } from "@edge-op/shared/users/user-addresses";
import { usernameKey } from "../users/user-table.ts";
import type { UserLine } from "./import-schema.ts";

/** A line with the forms in which its names are compared, and the issuers of its identities. */
export interface PreparedLine {
  readonly line: UserLine;
  readonly usernameKey: string;
  /** The username as an address, if it is one. */
  readonly nameKey: string | undefined;
  readonly address: { readonly key: string; readonly address: string } | undefined;
  readonly retiredHash: string;
  readonly identities: readonly Identity[];
}

type Identity = NonNullable<UserLine["identities"]>[number] & { readonly issuer: string };

export type CheckedLine =
  | { readonly kind: "new"; readonly prepared: PreparedLine }
  | { readonly kind: "exists" }
  | { readonly kind: "refused"; readonly faults: readonly FieldError[] };

const areFound = listOf(objectOf<{ readonly found: string }>({ found: isText }));

/** The identifiers of a batch that the databases contain already, as texts. */
class Found {
  readonly users: ReadonlyMap<string, string>;
  readonly clients: ReadonlySet<string>;
  readonly usernames: Set<string>;
  readonly addresses: Set<string>;
  readonly passkeys: Set<string>;
  readonly identities: Set<string>;
  readonly retired: ReadonlySet<string>;
  readonly organizations: ReadonlySet<string>;
  /** Subs of earlier lines of the batch. */
  readonly subs = new Set<string>();

  constructor(rows: readonly (readonly string[])[]) {
    const [retiredElsewhere = [], users = [], clients, usernames, addresses, passkeys, identities, retired = []] = rows;
    this.users = new Map(users.map((text) => splitOnce(text)));
    this.clients = new Set(clients);
    this.usernames = new Set(usernames);
    this.addresses = new Set(addresses);
    this.passkeys = new Set(passkeys);
    this.identities = new Set(identities);
    this.retired = new Set([...retired, ...retiredElsewhere]);
    this.organizations = new Set(rows[8]);
  }

  /** The names of an accepted line are taken for those after it. */
  take({ line, usernameKey: name, address, identities }: PreparedLine): void {
    this.subs.add(line.sub);
    this.usernames.add(name);
    if (address !== undefined) this.addresses.add(address.key);
    for (const { credential_id: id } of line.passkeys ?? []) this.passkeys.add(id);
    for (const identity of identities) this.identities.add(identityKey(identity));
  }
}

/**
 * **Decides about each line of a batch, without changing anything**: whether its user is new, is there already, or collides with somebody else's sub,
 * name, address, passkey or identity, in the databases or in an earlier line. Cost: 3 D1 calls: the upstream providers, then 2 in parallel.
 */
export async function checkLines(
  env: RetirementBindings,
  lines: readonly (UserLine | undefined)[],
): Promise<readonly (CheckedLine | undefined)[]> {
  const issuers = await readIssuers(env.DB);
  const prepared = await Promise.all(
    lines.map(async (line) => (line === undefined ? undefined : prepare(env, line, issuers))),
  );
  const ready = prepared.filter((each) => each !== undefined && !("faults" in each)) as PreparedLine[];
  const found = await readFound(env, ready);
  return prepared.map((each): CheckedLine | undefined => {
    if (each === undefined) return undefined;
    if ("faults" in each) return { kind: "refused", faults: each.faults };
    const checked = decide(each, found);
    if (checked.kind === "new") found.take(each);
    return checked;
  });
}

function decide(prepared: PreparedLine, found: Found): CheckedLine {
  const { line, usernameKey: name, nameKey, address, identities } = prepared;
  const known = found.users.get(line.sub);
  if (known !== undefined) {
    if (usernameKey(known) === name) return { kind: "exists" };
    return { kind: "refused", faults: [{ path: "sub", message: "belongs to a user with another username" }] };
  }
  const faults = [
    ...fault(found.subs.has(line.sub), "sub", "is that of an earlier line"),
    ...fault(found.clients.has(line.sub), "sub", "is the id of a client"),
    ...fault(found.retired.has(prepared.retiredHash), "sub", "was a deleted user's, and is never given again"),
    ...fault(found.usernames.has(name), "username", "is taken"),
    ...fault(nameKey !== undefined && found.addresses.has(nameKey), "username", "is the address of another user"),
    ...fault(address !== undefined && found.addresses.has(address.key), "claims.email", "is taken"),
    ...fault(
      address !== undefined && address.key !== nameKey && found.usernames.has(address.key),
      "claims.email",
      "is the username of another user",
    ),
    ...(line.passkeys ?? []).flatMap(({ credential_id: id }, index) =>
      fault(found.passkeys.has(id), `passkeys[${index}].credential_id`, "is registered already"),
    ),
    ...identities.flatMap((identity, index) =>
      fault(found.identities.has(identityKey(identity)), `identities[${index}].subject`, "is connected already"),
    ),
    ...(line.memberships ?? []).flatMap(({ org_id: id }, index) =>
      fault(!found.organizations.has(id), `memberships[${index}].org_id`, "is no organisation of this deployment"),
    ),
  ];
  return faults.length > 0 ? { kind: "refused", faults } : { kind: "new", prepared };
}

function fault(isWrong: boolean, path: string, message: string): FieldError[] {
  return isWrong ? [{ path, message }] : [];
}

/** `undefined` for a provider of several directories, where each identity names its own. */
type Issuers = ReadonlyMap<string, string | undefined>;

async function prepare(
  env: RetirementBindings,
  line: UserLine,
  issuers: Issuers,
): Promise<PreparedLine | { readonly faults: readonly FieldError[] }> {
  const faults: FieldError[] = [];
  const identities = (line.identities ?? []).map((identity, index): Identity => {
    const { upstream_id: id, issuer = issuers.get(id) } = identity;
    if (!issuers.has(id)) {
      faults.push({ path: `identities[${index}].upstream_id`, message: "is no upstream provider of this deployment" });
    } else if (issuer === undefined) faults.push({ path: `identities[${index}].issuer`, message: "is required" });
    return { ...identity, issuer: issuer ?? "" };
  });
  faults.push(
    ...repeated(
      "passkeys",
      "credential_id",
      (line.passkeys ?? []).map((each) => each.credential_id),
    ),
  );
  faults.push(...repeated("identities", "subject", identities.map(identityKey)));
  faults.push(
    ...repeated(
      "memberships",
      "org_id",
      (line.memberships ?? []).map((each) => each.org_id),
    ),
  );
  if (faults.length > 0) return { faults };
  return {
    line,
    usernameKey: usernameKey(line.username) ?? "",
    nameKey: parseEmailAddress(line.username)?.key,
    address: verifiedAddress(line.claims ?? {}),
    retiredHash: hexOf(await retiredHash(env, line.sub)),
    identities,
  };
}

function repeated(list: string, member: string, values: readonly string[]): FieldError[] {
  return values.flatMap((value, index) =>
    fault(values.indexOf(value) < index, `${list}[${index}].${member}`, "is given twice"),
  );
}

function identityKey({ upstream_id: id, issuer, subject }: Identity): string {
  return [id, issuer, subject].join("\n");
}

function splitOnce(text: string): readonly [string, string] {
  const at = text.indexOf("\n");
  return [text.slice(0, at), text.slice(at + 1)];
}

async function readIssuers(database: D1Database): Promise<Issuers> {
  const select = database.prepare("SELECT upstream_id || char(10) || document AS found FROM upstreams");
  const { results } = await queryDatabase(() => select.all());
  const rows = requireForm("upstream providers", results, areFound).map(({ found }) => splitOnce(found));
  return new Map(rows.map(([id, text]) => [id, issuerOf(readStored("upstream", text, isUpstreamDocument))]));
}

function issuerOf({ kind, issuer }: UpstreamDocument): string | undefined {
  return kind === "oidc" || kind === "microsoft" ? issuer : fixedIssuers[kind];
}

async function readFound({ DB, AUDIT_DB }: RetirementBindings, lines: readonly PreparedLine[]): Promise<Found> {
  const subs = lines.map(({ line }) => line.sub);
  const addresses = lines.flatMap(({ address }) => (address === undefined ? [] : [address.key]));
  const named = lines.flatMap(({ nameKey }) => (nameKey === undefined ? [] : [nameKey]));
  const names = [...lines.map((each) => each.usernameKey), ...addresses];
  const credentials = lines.flatMap(({ line }) => (line.passkeys ?? []).map((each) => each.credential_id));
  const identities = lines.flatMap((each) => each.identities);
  const hashes = lines.map((each) => each.retiredHash);
  const orgIds = lines.flatMap(({ line }) => (line.memberships ?? []).map((each) => each.org_id));
  const select = (sql: string, values: readonly unknown[], ...others: readonly unknown[]) =>
    peopleOf(DB)
      .prepare(sql)
      .bind(JSON.stringify(values), ...others);
  const among = "IN (SELECT value FROM json_each(?1))";
  const retired = (table: string) =>
    `SELECT lower(hex(hash)) AS found FROM ${table} WHERE hash IN (SELECT unhex(value) FROM json_each(?1))`;
  const statements = [
    select(`SELECT sub || char(10) || username AS found FROM users WHERE sub ${among}`, subs),
    select(`SELECT client_id AS found FROM clients WHERE client_id ${among}`, subs),
    select(`SELECT username_key AS found FROM users WHERE username_key ${among}`, names),
    select(
      `SELECT address_key AS found FROM user_addresses
        WHERE address_key ${among} AND (held_until_ms IS NULL OR held_until_ms > ?2)`,
      [...addresses, ...named],
      nowMs(),
    ),
    select(`SELECT credential_id AS found FROM webauthn_credentials WHERE credential_id ${among}`, credentials),
    select(
      `SELECT i.upstream_id || char(10) || i.issuer || char(10) || i.subject AS found FROM json_each(?1) j
         JOIN user_identities i ON i.upstream_id = j.value ->> 'upstream_id' AND i.issuer = j.value ->> 'issuer'
          AND i.subject = j.value ->> 'subject'`,
      identities,
    ),
    select(retired("retired_subs"), hashes),
    ...(orgIds.length === 0
      ? []
      : [select(`SELECT org_id AS found FROM organizations WHERE org_id ${among}`, [...new Set(orgIds)])]),
  ];
  const elsewhere = AUDIT_DB.prepare(retired("retired_subjects")).bind(JSON.stringify(hashes));
  const [inDatabase, inAudit] = await Promise.all([
    queryDatabase(() => DB.batch(statements)),
    queryAuditDatabase(() => elsewhere.all()),
  ]);
  const texts = [inAudit, ...inDatabase].map(({ results }) =>
    requireForm("rows of an import", results, areFound).map(({ found }) => found),
  );
  return new Found(texts);
}
