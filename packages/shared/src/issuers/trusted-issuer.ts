import {
  isFlag,
  isNumber,
  isText,
  listOf,
  objectOf,
  recordOf,
  type Stored,
} from "@edge-op/protocol/encoding/stored-json";
import type * as z from "zod";
import type { issuerDocumentSchema, tokenUses } from "./issuer-schema.ts";

/**
 * **A trusted issuer**: its JWTs are accepted as assertions (RFC 7523), subject and actor tokens (RFC 8693), ID-JAGs and software statements (RFC
 * 7591), for the subjects that its rules define. The document has the spelling of the admin API, as stored in D1. A valid signature alone grants
 * nothing; a matching rule is required (default deny).
 */
export interface TrustedIssuer {
  readonly issuerId: string;
  /** The `iss` of its tokens, byte for byte; `spiffe://<trust domain>` for JWT-SVIDs, which need no `iss`. */
  readonly issuer: string;
  readonly status: "active" | "disabled";
  readonly document: IssuerDocument;
}

export type TokenUse = (typeof tokenUses)[number];

type Document = Stored<z.output<typeof issuerDocumentSchema>>;

/** With a subject, which has no meaning in a rule for software statements, and what the rules between members make of others. */
export interface IssuerRule extends Omit<Document["rules"][number], "claims" | "subject"> {
  readonly claims: Readonly<Record<string, ClaimRule>>;
  readonly subject: RuleSubject;
}

export interface IssuerDocument extends Omit<Document, "status" | "rules"> {
  readonly rules: readonly IssuerRule[];
}

export type ClaimValue = string | number | boolean;

export type ClaimRule =
  | { readonly exact: ClaimValue }
  | { readonly one_of: readonly ClaimValue[] }
  | { readonly prefix: string }
  | { readonly glob: string }
  | { readonly contains: string };

/**
 * The subject of a token at this provider: the rule's service client, a workload of its own that acts by this client, one user, or the user that a
 * claim names.
 */
export type RuleSubject =
  | { readonly type: "client" | "workload" }
  | { readonly type: "user"; readonly sub: string }
  | { readonly type: "user"; readonly claim: string; readonly by: "sub" | "username" };

const isRule = objectOf<IssuerRule>({
  rule_id: isText,
  status: isText,
  uses: listOf(isText<TokenUse>),
  claims: recordOf(objectOf<ClaimRule>({})),
  subject: objectOf<RuleSubject>({ type: isText }),
  audiences: listOf(isText),
  resources: listOf(isText),
  scopes: listOf(isText),
});

export const isIssuerDocument = objectOf<IssuerDocument>({
  algorithms: listOf(isText<IssuerDocument["algorithms"][number]>),
  max_token_lifetime: isNumber,
  reusable_assertions: isFlag,
  rules: listOf(isRule),
});

/**
 * The name of an issuer, or of one of its rules, as a party of a grant (`grant_client` and `via` of its tokens), so that a cut-off of this name
 * revokes them. It cannot be a client's id: a client's id contains no colon, or is an https URL.
 */
export function issuerParty({ issuerId }: Pick<TrustedIssuer, "issuerId">): string {
  return `issuer:${issuerId}`;
}

/** The rules among the parties of a token, as `issuer_id:rule_id`. */
export function rulesOfParties(parties: readonly unknown[]): string[] {
  const rules = parties.flatMap((party) =>
    typeof party === "string" ? (/^issuer:([^:]+:[^:]+)$/.exec(party)?.[1] ?? []) : [],
  );
  return [...new Set(rules)];
}

export function ruleParty(issuer: Pick<TrustedIssuer, "issuerId">, rule: Pick<IssuerRule, "rule_id">): string {
  return `${issuerParty(issuer)}:${rule.rule_id}`;
}
