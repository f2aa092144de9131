import type { FieldError, OAuthError } from "@edge-op/protocol/oauth/errors";
import { refuseClientUrl } from "@edge-op/shared/http/client-url";
import { invalidFields, requireValid } from "@edge-op/shared/http/require-valid";
import { issuerDocumentSchema } from "@edge-op/shared/issuers/issuer-schema";
import type { IssuerDocument, TrustedIssuer } from "@edge-op/shared/issuers/trusted-issuer";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";
import type * as z from "zod";
import { requireAuthority } from "../admin/actor.ts";
import { json, text } from "../admin/columns.ts";
import { takenError } from "../admin/taken-ids.ts";
import { type StoredIn, VersionedTable } from "../admin/versioned-table.ts";

/** **Trusted issuers in D1.** */
export const issuers = new VersionedTable({
  name: "trusted_issuers",
  noun: "issuer",
  members: {
    issuerId: text("issuer_id"),
    issuer: text("issuer"),
    status: text("status", ["active", "disabled"]),
    document: json<IssuerDocument>("document"),
  },
  key: "issuerId",
  document: "document",
  missing: "issuer-not-found",
  forget: ({ issuer }) => [{ kind: "issuer", id: issuer }],
  findTaken: async (database, issuer, known) => (known === undefined ? findTaken(database, issuer) : undefined),
});

export type StoredIssuer = StoredIn<typeof issuers>;

/** Finds a record with the id, or with the issuer with or without a final slash: these are two names of one issuer. */
async function findTaken(
  database: D1Database,
  { issuerId, issuer }: Pick<TrustedIssuer, "issuerId" | "issuer">,
): Promise<OAuthError | undefined> {
  const row = await queryDatabase(() =>
    database
      .prepare(
        `SELECT issuer_id, issuer FROM trusted_issuers WHERE issuer_id = ?1 OR rtrim(issuer, '/') = rtrim(?2, '/')
          ORDER BY issuer_id <> ?1 LIMIT 1`,
      )
      .bind(issuerId, issuer)
      .first<{ readonly issuer_id: string; readonly issuer: string }>(),
  );
  if (row === null) return undefined;
  if (row.issuer_id === issuerId) return takenError("issuer_id");
  return takenError("issuer", `is recorded as ${row.issuer}, with the issuer_id ${row.issuer_id}`);
}

/** **Completes and checks the document of an issuer** before it is stored. Refuses it with every fault. */
export function requireIssuerDocument(
  issuer: string,
  input: unknown,
  ownIssuer: string,
): { readonly status: StoredIssuer["status"]; readonly document: IssuerDocument } {
  const { status, ...valid } = requireValid(issuerDocumentSchema, input);
  const given = { ...valid, rules: valid.rules.map(completeRule) };
  const hasKeys = given.jwks !== undefined || given.jwks_uri !== undefined || given.discovery_uri !== undefined;
  const discoveryUri = hasKeys ? given.discovery_uri : defaultDiscoveryUri(issuer);
  const completed = discoveryUri === undefined ? given : { ...given, discovery_uri: discoveryUri };
  const nameFault = issuerNameFault(issuer, ownIssuer);
  const faults = [
    ...(nameFault === undefined ? [] : [{ path: "issuer", message: nameFault }]),
    ...issuerFaults({ ...completed, status }, ownIssuer),
  ];
  if (faults.length > 0) throw invalidFields(faults);
  // The faults include a subject that lacks the members of its type.
  return { status, document: completed as IssuerDocument };
}

/** Refuses to change an issuer whose rules grant admin scopes that the actor lacks. */
export function requireAuthorityOverIssuer(actor: AccessToken, { rules }: IssuerDocument): void {
  requireAuthority(
    actor,
    rules.flatMap(({ scopes }) => scopes),
  );
}

type IssuerInput = z.output<typeof issuerDocumentSchema>;

function fault(broken: boolean, path: string, message: string): FieldError[] {
  return broken ? [{ path, message }] : [];
}

/**
 * The fault of an issuer's name. It must be an https URL without query and fragment (RFC 8414 §2), or a SPIFFE trust domain, in the URL parser's
 * spelling: tokens name it byte for byte, so a record with another spelling would never match. A final slash is allowed; it is the same issuer
 * (`issuers`).
 */
function issuerNameFault(issuer: string, ownIssuer: string): string | undefined {
  if (/^spiffe:\/\/[a-z0-9._-]+$/.test(issuer)) return undefined;
  if (!URL.canParse(issuer)) return "must be an https URL, or spiffe:// and a trust domain";
  const { protocol, hostname, search, hash, username, password } = new URL(issuer);
  const isLocal =
    protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname) && ownIssuer.startsWith("http:");
  if (protocol !== "https:" && !isLocal) return "must be an https URL, or spiffe:// and a trust domain";
  // The parser omits an empty query or fragment.
  if (/[?#]/.test(issuer) || search + hash + username + password !== "") {
    return "must have no query, fragment or credentials";
  }
  const canonical = canonicalName(issuer);
  if (withoutSlash(canonical) === ownIssuer) return "must not be this provider: its own tokens need no record";
  return canonical === issuer ? undefined : `must be written as ${canonical}`;
}

function canonicalName(issuer: string): string {
  const url = new URL(issuer);
  url.hostname = url.hostname.replace(/\.+$/, "");
  return issuer.endsWith("/") ? url.href : withoutSlash(url.href);
}

function withoutSlash(issuer: string): string {
  return issuer.replace(/\/$/, "");
}

/** The location of an issuer's metadata unless its record names another one (OpenID Connect Discovery §4). */
function defaultDiscoveryUri(issuer: string): string | undefined {
  return /^https?:/.test(issuer) ? `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration` : undefined;
}

/** **Checks the rules between the members of a trusted issuer.** Pure: returns every fault of a whole document. */
function issuerFaults(document: IssuerInput, ownIssuer: string): FieldError[] {
  const sources = [document.jwks, document.jwks_uri, document.discovery_uri].filter((source) => source !== undefined);
  const ids = document.rules.map(({ rule_id }) => rule_id);
  return [
    ...fault(sources.length !== 1, "jwks", "exactly one of jwks, jwks_uri and discovery_uri is required"),
    ...(["jwks_uri", "discovery_uri"] as const).flatMap((name) => {
      const uri = document[name];
      const refusal = uri === undefined ? undefined : refuseClientUrl(uri, ownIssuer);
      return fault(refusal !== undefined, name, `must be https on a public host: it is ${refusal}`);
    }),
    ...fault(new Set(ids).size !== ids.length, "rules", "must not repeat a rule_id"),
    ...fault(
      JSON.stringify(document).length > largestDocument,
      "rules",
      "are larger than 64 KiB together with the rest",
    ),
    ...document.rules.flatMap((rule, index) => ruleFaults(rule, `rules[${index}]`)),
  ];
}

const largestDocument = 64 * 1024;

type RuleInput = IssuerInput["rules"][number];

/** A rule for software statements (RFC 7591 §2.3) has only conditions: it lets a client register. */
function isForStatements({ uses }: RuleInput): boolean {
  return uses.includes("software_statement");
}

/** The rule is stored with a subject, which every stored rule must have, and which has no meaning here. */
function completeRule(rule: RuleInput): RuleInput {
  return isForStatements(rule) && rule.subject === undefined ? { ...rule, subject: { type: "client" } } : rule;
}

function statementFaults(rule: RuleInput, path: string): FieldError[] {
  const { subject, uses, clients, client_id: clientId, audiences, resources, scopes, claims } = rule;
  const given = [...(clients ?? []), ...audiences, ...resources, ...scopes];
  const hasMore = given.length > 0 || clientId !== undefined || rule.access_token_lifetime !== undefined;
  return [
    ...fault(uses.length > 1, `${path}.uses`, "software_statement must stand alone"),
    ...fault(
      Object.keys(claims).length === 0,
      `${path}.claims`,
      "must not be empty: every token of the issuer would match",
    ),
    ...fault(
      hasMore || (subject !== undefined && subject.type !== "client"),
      path,
      "a rule for software statements has rule_id, status, description, uses and claims alone",
    ),
  ];
}

function ruleFaults(rule: RuleInput, path: string): FieldError[] {
  if (isForStatements(rule)) return statementFaults(rule, path);
  const { subject, uses, clients, client_id: clientId } = rule;
  if (subject === undefined) return [{ path: `${path}.subject`, message: "is required" }];
  const isMapped = subject.type === "user" && subject.claim !== undefined;
  const isService = subject.type !== "user";
  const needsClients = uses.some((use) => use !== "assertion");
  return [
    ...subjectFaults(subject, `${path}.subject`),
    ...fault(
      !isMapped && Object.keys(rule.claims).length === 0,
      `${path}.claims`,
      "must not be empty, unless a claim names the user: every token of the issuer would match",
    ),
    ...fault(isService && clientId === undefined, `${path}.client_id`, `is required for subject ${subject.type}`),
    ...fault(
      clients === undefined && clientId === undefined,
      `${path}.clients`,
      "clients or client_id is required: nobody could present a token",
    ),
    ...fault(needsClients && clients === undefined, `${path}.clients`, "is required for every use but assertion"),
    ...fault(isService && uses.includes("id_jag"), `${path}.uses`, "an ID-JAG is for a user"),
    ...fault(
      rule.audiences.length + rule.resources.length === 0,
      `${path}.resources`,
      "audiences or resources is required: no token could be issued",
    ),
  ];
}

function subjectFaults(subject: NonNullable<RuleInput["subject"]>, path: string): FieldError[] {
  const { type, sub, claim, by } = subject;
  if (type !== "user") {
    return fault(
      sub !== undefined || claim !== undefined || by !== undefined,
      path,
      `of type ${type} has no other members`,
    );
  }
  return fault(
    (sub === undefined) === (claim === undefined) || (claim === undefined) !== (by === undefined),
    path,
    "of type user needs sub, or claim and by",
  );
}
