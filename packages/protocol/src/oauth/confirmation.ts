/**
 * **A key that must be proven**, by the method that proves it: `jkt`, the thumbprint of a DPoP key (RFC 9449 §6.1), or `x5t#S256`, that of a client
 * certificate (RFC 8705 §3.1). Authorization codes, refresh families and access tokens are bound to such keys; rows store them as JSON.
 */
export interface KeyConfirmation {
  readonly method: "jkt" | "x5t#S256";
  readonly thumbprint: string;
}

/**
 * **The confirmation of an access token** (`cnf`). Any claim other than these two, or with further members, is `other`: it is returned unchanged and
 * cannot be proven.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7800#section-3.1
 */
export type Confirmation = KeyConfirmation | { readonly method: "other"; readonly members: ConfirmationClaim };

/** The value of a `cnf` claim or response member. */
export type ConfirmationClaim = Readonly<Record<string, unknown>>;

export function readConfirmation(claim: ConfirmationClaim): Confirmation {
  const [[name, thumbprint] = [], ...others] = Object.entries(claim);
  const isKnown = (name === "jkt" || name === "x5t#S256") && typeof thumbprint === "string" && others.length === 0;
  return isKnown ? { method: name, thumbprint } : { method: "other", members: claim };
}

export function formatConfirmation(cnf: Confirmation | undefined): ConfirmationClaim | undefined {
  if (cnf === undefined) return undefined;
  return cnf.method === "other" ? cnf.members : { [cnf.method]: cnf.thumbprint };
}

/** Whether a request that proves `presented` may use something bound to `bound`: anything unbound, or the same key by the same method. */
export function isConfirmedBy(bound: KeyConfirmation | undefined, presented: KeyConfirmation | undefined): boolean {
  if (bound === undefined) return true;
  return bound.method === presented?.method && bound.thumbprint === presented.thumbprint;
}
