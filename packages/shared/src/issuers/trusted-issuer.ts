/**
 * **A trusted issuer**: whose JWTs are accepted as assertions (RFC 7523), as subject and actor tokens (RFC 8693), as ID-JAGs and as software statements (RFC 7591), and the
 * rules that say for whom. The document has the spelling of the admin API, as stored in D1. Trust in the issuer and the rules are
 * apart: a token whose signature is valid gives nothing unless a rule matches (default deny).
 */
export interface TrustedIssuer {
  readonly issuerId: string;
  /** The `iss` of its tokens, byte for byte; `spiffe://<trust domain>` for JWT-SVIDs, which need no `iss`. */
  readonly issuer: string;
  readonly status: "active" | "disabled";
  readonly document: IssuerDocument;
}

export interface IssuerDocument {
  readonly name?: string | undefined;
  /** Exactly one of the next three: its public keys, where they are, or the metadata that names where they are. */
  readonly jwks?: { readonly keys: readonly JsonWebKey[] } | undefined;
  readonly jwks_uri?: string | undefined;
  readonly discovery_uri?: string | undefined;
  readonly algorithms: readonly string[];
  /** Values that `aud` may have. Absent: the issuer identifier of this provider; for assertions its token endpoint too. */
  readonly audiences?: readonly string[] | undefined;
  /** `exp − iat` at most, seconds. */
  readonly max_token_lifetime: number;
  /** An assertion may be sent again until it expires, as a mounted token file is; otherwise its `jti` is accepted once. */
  readonly reusable_assertions: boolean;
  readonly rules: readonly IssuerRule[];
}

/** What a token is presented as. */
export const tokenUses = ["assertion", "subject_token", "actor_token", "id_jag", "software_statement"] as const;
export type TokenUse = (typeof tokenUses)[number];

export interface IssuerRule {
  readonly rule_id: string;
  readonly status: "active" | "disabled";
  readonly description?: string | undefined;
  readonly uses: readonly TokenUse[];
  /** Every one must match. A name that begins with `/` is a JSON pointer (RFC 6901). */
  readonly claims: Readonly<Record<string, ClaimRule>>;
  /** Clients that may present the token with their own authentication. */
  readonly clients?: readonly string[] | undefined;
  /** The service client: a request without client authentication acts as it. */
  readonly client_id?: string | undefined;
  /** Without meaning in a rule for software statements, like every member below. */
  readonly subject: RuleSubject;
  readonly audiences: readonly string[];
  readonly resources: readonly string[];
  readonly scopes: readonly string[];
  /** Seconds, at most; the client's own lifetime counts too. */
  readonly access_token_lifetime?: number | undefined;
}

export type ClaimValue = string | number | boolean;

export type ClaimRule =
  | { readonly exact: ClaimValue }
  | { readonly one_of: readonly ClaimValue[] }
  | { readonly prefix: string }
  | { readonly glob: string }
  | { readonly contains: string };

/** Who a token stands for here: the rule's service client, one user, or the user whom a claim names. */
export type RuleSubject =
  | { readonly type: "client" }
  | { readonly type: "user"; readonly sub: string }
  | { readonly type: "user"; readonly claim: string; readonly by: "sub" | "username" };

/**
 * The name under which an issuer, or one of its rules, takes part in a grant (`grant_client` and `via` of its tokens), so that a cut-off
 * of this name ends them. No client has it: a client's id contains no colon, or is an https URL.
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
