import { usageFailure } from "../console/failure.ts";

/** **The configuration of a relying party**, as its library or product has it. All but the issuer is optional; what is absent is not examined. */
export interface RelyingParty {
  readonly issuer: string;
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly token_endpoint_auth_method?: string;
  readonly redirect_uri?: string;
  readonly post_logout_redirect_uri?: string;
  readonly response_type?: string;
  readonly scope?: string;
  readonly resource?: string;
  readonly code_challenge?: string;
  readonly code_challenge_method?: string;
  readonly nonce?: string;
  /** The signature of ID tokens that it accepts. */
  readonly id_token_signed_response_alg?: string;
  /** The `aud` that its API requires. */
  readonly audience?: string;
  /** An access token that its API refused. */
  readonly access_token?: string;
  /** The keys of the provider that it has stored. */
  readonly jwks?: { readonly keys: readonly { readonly kid?: string }[] };
}

export const members = [
  "client_id",
  "client_secret",
  "token_endpoint_auth_method",
  "redirect_uri",
  "post_logout_redirect_uri",
  "response_type",
  "scope",
  "resource",
  "code_challenge",
  "code_challenge_method",
  "nonce",
  "id_token_signed_response_alg",
  "audience",
  "access_token",
] as const;

/** The parameters of an authorization request, as the browser's address bar shows it. */
export function fromAuthorizationUrl(text: string): Partial<RelyingParty> {
  if (!URL.canParse(text)) throw usageFailure("--request must be the URL of an authorization request.");
  const given = [...new URL(text).searchParams].filter(([name]) => (members as readonly string[]).includes(name));
  return Object.fromEntries(given);
}

/** A configuration file: one object with the members of `RelyingParty`. */
export function fromDocument(document: unknown): Partial<RelyingParty> {
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    throw usageFailure("--config must contain one object.");
  }
  const known: readonly string[] = [...members, "jwks"];
  const unknown = Object.keys(document).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw usageFailure(`--config: there is no member "${unknown}". Known: ${known.join(", ")}.`);
  return document;
}
