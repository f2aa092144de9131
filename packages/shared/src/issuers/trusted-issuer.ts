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

export interface IssuerDocument {
  readonly name?: string | undefined;
  /** Exactly one of the next three members is present: the public keys, their URL, or the metadata that contains their URL. */
  readonly jwks?: { readonly keys: readonly JsonWebKey[] } | undefined;
  readonly jwks_uri?: string | undefined;
  readonly discovery_uri?: string | undefined;
  readonly algorithms: readonly string[];
  /** The accepted values of `aud`. Absent: the issuer identifier of this provider; for assertions also its token endpoint. */
  readonly audiences?: readonly string[] | undefined;
  /** The maximum of `exp − iat`, in seconds. */
  readonly max_token_lifetime: number;
  /** An assertion may be sent again until it expires, as a mounted token file is; otherwise its `jti` is accepted once. */
  readonly reusable_assertions: boolean;
  readonly rules: readonly IssuerRule[];
}

/** The ways in which a token can be presented. */
export const tokenUses = ["assertion", "subject_token", "actor_token", "id_jag", "software_statement"] as const;
export type TokenUse = (typeof tokenUses)[number];

export interface IssuerRule {
  readonly rule_id: string;
  readonly status: "active" | "disabled";
  readonly description?: string | undefined;
  readonly uses: readonly TokenUse[];
  /** Every claim rule must match. A name that begins with `/` is a JSON pointer (RFC 6901). */
  readonly claims: Readonly<Record<string, ClaimRule>>;
  /** Clients that may present the token with their own authentication. */
  readonly clients?: readonly string[] | undefined;
  /** The service client that a request without client authentication acts as. */
  readonly client_id?: string | undefined;
  /** Ignored in a rule for software statements, like every member below. */
  readonly subject: RuleSubject;
  readonly audiences: readonly string[];
  readonly resources: readonly string[];
  readonly scopes: readonly string[];
  /** The maximum lifetime in seconds; the client's own lifetime also applies. */
  readonly access_token_lifetime?: number | undefined;
}

export type ClaimValue = string | number | boolean;

export type ClaimRule =
  | { readonly exact: ClaimValue }
  | { readonly one_of: readonly ClaimValue[] }
  | { readonly prefix: string }
  | { readonly glob: string }
  | { readonly contains: string };

/** The subject of a token at this provider: the rule's service client, one user, or the user that a claim names. */
export type RuleSubject =
  | { readonly type: "client" }
  | { readonly type: "user"; readonly sub: string }
  | { readonly type: "user"; readonly claim: string; readonly by: "sub" | "username" };

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
