/**
 * **From proofs to `acr`, `amr` and `auth_time`.** A method of proof has one `acr` and satisfies others: user verification makes a passkey a second
 * factor (`mfa`), and `phr` (phishing-resistant) is more than that. `acr` values are compared by {@link findProof}, never by equality.
 *
 * @see https://openid.net/specs/openid-connect-eap-acr-values-1_0.html
 * @see https://www.rfc-editor.org/rfc/rfc8176#section-2
 */

export const authenticationContexts = {
  password: { acr: "urn:edge-op:acr:password", satisfies: [], amr: ["pwd"], strength: 1 },
  /** A passkey that is synced between its owner's devices. */
  syncedPasskey: { acr: "phr", satisfies: ["mfa"], amr: ["swk", "user", "mfa"], strength: 2 },
  /** A passkey that never leaves its authenticator. */
  boundPasskey: { acr: "phr", satisfies: ["mfa"], amr: ["hwk", "user", "mfa"], strength: 2 },
} as const satisfies Readonly<Record<string, Context>>;

interface Context {
  readonly acr: string;
  /** Other values that a proof by this method satisfies. */
  readonly satisfies: readonly string[];
  readonly amr: readonly string[];
  readonly strength: number;
}

export type ProofMethod = keyof typeof authenticationContexts;

export const passkeyMethods: readonly ProofMethod[] = ["syncedPasskey", "boundPasskey"];

/** Who was shown to be present, how and when; the members that an authentication context is computed from. */
export interface DatedProof {
  readonly method: ProofMethod;
  readonly atMs: number;
}

export function acrValuesOf(method: ProofMethod): readonly string[] {
  const { acr, satisfies } = contextOf(method);
  return [acr, ...satisfies];
}

/** For discovery's `acr_values_supported`. */
export const supportedAcrValues: readonly string[] = [
  ...new Set(Object.values<Context>(authenticationContexts).flatMap(({ acr, satisfies }) => [acr, ...satisfies])),
];

export function isSupportedAcr(acr: string): boolean {
  return supportedAcrValues.includes(acr);
}

/** The newest proof that satisfies one of the values, or any value if none is named, and is not older than `sinceMs`. */
export function findProof<Proof extends DatedProof>(
  proofs: readonly Proof[],
  acrValues: readonly string[] | undefined,
  sinceMs = 0,
): Proof | undefined {
  const isEnough = ({ method, atMs }: Proof) =>
    atMs >= sinceMs && (acrValues?.some((acr) => acrValuesOf(method).includes(acr)) ?? true);
  return proofs.filter(isEnough).toSorted((left, right) => right.atMs - left.atMs)[0];
}

/**
 * The authentication that proofs amount to. Of the wanted values the first that a proof satisfies, as OIDC Core §5.5.1.1 requires; otherwise the
 * value of the strongest proof. `atMs` is the time of the proof that the `acr` rests on.
 */
export function authenticationOf(
  proofs: readonly DatedProof[],
  { wanted = [], sinceMs = 0 }: { readonly wanted?: readonly string[] | undefined; readonly sinceMs?: number } = {},
): { readonly acr: string; readonly amr: readonly string[]; readonly atMs: number } {
  const recent = proofs.filter(({ atMs }) => atMs >= sinceMs);
  const usable = (recent.length > 0 ? recent : proofs).toSorted((left, right) => right.atMs - left.atMs);
  const [strongest] = usable.toSorted(
    (left, right) => contextOf(right.method).strength - contextOf(left.method).strength,
  );
  if (strongest === undefined) throw new Error("an authentication without a proof");
  const { acr } = contextOf(strongest.method);
  if (!wanted.includes(acr)) {
    for (const value of wanted) {
      const proof = findProof(usable, [value]);
      if (proof !== undefined) return { acr: value, amr: contextOf(proof.method).amr, atMs: proof.atMs };
    }
  }
  return { acr, amr: contextOf(strongest.method).amr, atMs: strongest.atMs };
}

/** A stored method that a later release knows satisfies nothing here. */
function contextOf(method: ProofMethod): Context {
  const contexts: Readonly<Record<string, Context>> = authenticationContexts;
  return contexts[method] ?? { acr: "urn:edge-op:acr:unknown", satisfies: [], amr: [], strength: 0 };
}
