/**
 * **From proofs to `acr`, `amr` and `auth_time`.** A way of authentication needs one proof of each of its factors; it has one `acr` and satisfies
 * others. A passkey is a way alone, because user verification makes it two factors (`mfa`); it is phishing-resistant (`phr`) too. A password is one
 * factor, and with a code of an app or a saved recovery code two; so is a sign-in at an upstream provider, unless its record maps its `acr` there.
 * `acr` values are compared by {@link findAuthentication}, never by equality.
 *
 * @see https://openid.net/specs/openid-connect-eap-acr-values-1_0.html
 * @see https://www.rfc-editor.org/rfc/rfc8176#section-2
 */

export type ProofMethod =
  | "password"
  | "syncedPasskey"
  | "boundPasskey"
  | "totp"
  | "recoveryCode"
  | "mailedCode"
  | "temporaryPassword"
  | "upstream"
  | "upstreamMfa"
  | "upstreamPhr"
  | "connection"
  | "connectionMfa"
  | "connectionPhr";

/** A synced passkey is on several devices of its owner; a bound one never leaves its authenticator. */
export const passkeyMethods: readonly ProofMethod[] = ["syncedPasskey", "boundPasskey"];
/** Codes that prove nothing alone: they need the proof of a password, or of a sign-in at an upstream provider. */
export const codeMethods: readonly ProofMethod[] = ["totp", "recoveryCode"];

/** A sign-in at an upstream provider, and those whose `acr` there amounts to more. */
export const upstreamMethods: readonly ProofMethod[] = ["upstream", "upstreamMfa", "upstreamPhr"];

/**
 * A sign-in at the connection of an organisation, which is a way like those at an upstream provider, for this organisation alone (usable-proofs.ts).
 */
export const connectionMethods: readonly ProofMethod[] = ["connection", "connectionMfa", "connectionPhr"];

/**
 * They are part of no authentication, and let a person set a new password: the proof of a mailbox, and a password that an administrator gave them.
 */
export const recoveryMethods: readonly ProofMethod[] = ["mailedCode", "temporaryPassword"];

/** Methods that sign a person in. */
export const signInProofMethods: readonly ProofMethod[] = [
  "password",
  ...passkeyMethods,
  ...upstreamMethods,
  ...connectionMethods,
];

export const passwordAcr = "urn:edge-op:acr:password";
export const upstreamAcr = "urn:edge-op:acr:upstream";

interface Way {
  readonly acr: string;
  /** Other values that this way satisfies. */
  readonly satisfies: readonly string[];
  readonly amr: readonly string[];
  readonly strength: number;
  /** The factors; for each, the methods that prove it. */
  readonly factors: readonly (readonly ProofMethod[])[];
}

/** RFC 8176 has no value for a saved code; it is a password that works once, `otp`. Nor has it one for another provider: `fed` is in wide use. */
const ways: readonly Way[] = [
  { acr: passwordAcr, satisfies: [], amr: ["pwd"], strength: 1, factors: [["password"]] },
  { acr: "phr", satisfies: ["mfa"], amr: ["swk", "user", "mfa"], strength: 3, factors: [["syncedPasskey"]] },
  { acr: "phr", satisfies: ["mfa"], amr: ["hwk", "user", "mfa"], strength: 3, factors: [["boundPasskey"]] },
  { acr: "mfa", satisfies: [], amr: ["pwd", "otp", "mfa"], strength: 2, factors: [["password"], codeMethods] },
  { acr: upstreamAcr, satisfies: [], amr: ["fed"], strength: 1, factors: [["upstream", "connection"]] },
  {
    acr: "mfa",
    satisfies: [],
    amr: ["fed", "otp", "mfa"],
    strength: 2,
    factors: [["upstream", "connection"], codeMethods],
  },
  { acr: "mfa", satisfies: [], amr: ["fed", "mfa"], strength: 2, factors: [["upstreamMfa", "connectionMfa"]] },
  { acr: "phr", satisfies: ["mfa"], amr: ["fed", "mfa"], strength: 3, factors: [["upstreamPhr", "connectionPhr"]] },
];

/** A proof of presence: the person, method and time, from which an authentication context is computed. */
export interface DatedProof {
  readonly method: ProofMethod;
  readonly atMs: number;
}

export interface Authentication {
  readonly acr: string;
  readonly amr: readonly string[];
  /** The time of the oldest proof that the `acr` rests on. */
  readonly atMs: number;
}

/** The `acr` values of the ways that a proof by this method is a part of. */
export function acrValuesOf(method: ProofMethod): readonly string[] {
  const possible = ways.filter(({ factors }) => factors.some((methods) => methods.includes(method)));
  return [...new Set(possible.flatMap(valuesOf))];
}

/** For discovery's `acr_values_supported`. */
export const supportedAcrValues: readonly string[] = [...new Set(ways.flatMap(valuesOf))];

export function isSupportedAcr(acr: string): boolean {
  return supportedAcrValues.includes(acr);
}

/** The newest authentication that satisfies one of the values, or any value if none is named, by proofs that are not older than `sinceMs`. */
export function findAuthentication(
  proofs: readonly DatedProof[],
  acrValues: readonly string[] | undefined,
  sinceMs = 0,
): Authentication | undefined {
  return waysOf(proofs, sinceMs).find((way) => acrValues?.some((acr) => valuesOf(way).includes(acr)) ?? true);
}

/**
 * The authentication that proofs of one person amount to. Of the wanted values the first that is satisfied, as OIDC Core §5.5.1.1 requires; otherwise
 * the value of the strongest. Proofs that are older than `sinceMs` count only if the others are no authentication.
 */
export function authenticationOf(
  proofs: readonly DatedProof[],
  { wanted = [], sinceMs = 0 }: { readonly wanted?: readonly string[] | undefined; readonly sinceMs?: number } = {},
): Authentication {
  const recent = waysOf(proofs, sinceMs);
  const usable = recent.length > 0 ? recent : waysOf(proofs, 0);
  const [strongest] = usable.toSorted((left, right) => right.strength - left.strength);
  // Proofs that a later release knows, or a code alone, satisfy nothing here.
  if (strongest === undefined) {
    return { acr: "urn:edge-op:acr:unknown", amr: [], atMs: Math.max(0, ...proofs.map(({ atMs }) => atMs)) };
  }
  if (!wanted.includes(strongest.acr)) {
    for (const acr of wanted) {
      const way = usable.find((each) => valuesOf(each).includes(acr));
      if (way !== undefined) return { acr, amr: way.amr, atMs: way.atMs };
    }
  }
  return { acr: strongest.acr, amr: strongest.amr, atMs: strongest.atMs };
}

/** The ways for which there are proofs, the newest first. A stored method that a later release knows is part of none. */
function waysOf(proofs: readonly DatedProof[], sinceMs: number): (Way & { readonly atMs: number })[] {
  const newest = (methods: readonly ProofMethod[]) =>
    Math.max(
      ...proofs.filter(({ method, atMs }) => methods.includes(method) && atMs >= sinceMs).map(({ atMs }) => atMs),
    );
  return ways
    .map((way) => ({ ...way, atMs: Math.min(...way.factors.map(newest)) }))
    .filter(({ atMs }) => Number.isFinite(atMs))
    .toSorted((left, right) => right.atMs - left.atMs);
}

/** Whether an `acr` value that this provider has issued satisfies another one. */
export function isAcrSatisfied(acr: string | undefined, wanted: string): boolean {
  return ways.some((way) => way.acr === acr && valuesOf(way).includes(wanted));
}

function valuesOf({ acr, satisfies }: Way): readonly string[] {
  return [acr, ...satisfies];
}
