/**
 * **When a domain is an organisation's** (ADR 72), as a pure state machine. A domain is verified for one organisation at most, and never leaves one
 * for another without a decision of an administrator of the deployment: whoever has proven it once *holds* it, also while it is contested or lapsed,
 * until the claim is deleted. A failed look-up changes nothing.
 */

export type DomainState = "pending" | "verified" | "contested" | "lapsed";

/** What one resolver says of the record of one organisation. */
export type Answer = "present" | "absent" | "unknown";

export interface DomainClaim {
  readonly orgId: string;
  readonly state: DomainState;
  /** Of the last look-up: the version of the claim. 0: none. */
  readonly checkedAtMs: number;
  readonly verifiedAtMs: number | undefined;
  readonly absentSinceMs: number | undefined;
}

/** How long a record may be absent, by at least two look-ups. */
export const absentMs = 30 * 86_400_000;

/** Resolvers must agree, so that one of them, or the way to it, can neither verify a domain nor end it. */
export function agree(answers: readonly Answer[]): Answer {
  const [first = "unknown"] = answers;
  return answers.every((answer) => answer === first) ? first : "unknown";
}

export function isHeld({ state }: Pick<DomainClaim, "state">): boolean {
  return state !== "pending";
}

export type Outcome =
  /** The claims that change, with a new version each. */
  | { readonly kind: "changed"; readonly claims: readonly DomainClaim[] }
  /** Another organisation holds it, and its record is there or could not be looked up. */
  | { readonly kind: "held" };

/**
 * After a look-up of the record of `own`, and of those of the organisations for which it is verified.
 *
 * @param others what other organisations hold; `answer` is not read unless it is verified
 */
export function afterLookUp(
  own: DomainClaim,
  answer: Answer,
  others: readonly { readonly claim: DomainClaim; readonly answer: Answer }[],
  atMs: number,
): Outcome {
  const checked = { ...own, checkedAtMs: atMs };
  const changed = (...claims: readonly DomainClaim[]): Outcome => ({ kind: "changed", claims });
  if (answer === "unknown" || own.state === "contested") return changed(checked);
  if (own.state === "verified") {
    if (answer === "present") return changed({ ...checked, absentSinceMs: undefined });
    const absentSinceMs = own.absentSinceMs ?? atMs;
    return changed({ ...checked, absentSinceMs, state: atMs - absentSinceMs >= absentMs ? "lapsed" : "verified" });
  }
  if (answer === "absent") return changed(checked);
  const held = others.filter(({ claim }) => isHeld(claim));
  if (held.length === 0)
    return changed({ ...checked, state: "verified", verifiedAtMs: atMs, absentSinceMs: undefined });
  if (held.some(({ claim, answer: theirs }) => claim.state === "verified" && theirs !== "absent")) {
    return { kind: "held" };
  }
  const contest = (claim: DomainClaim): DomainClaim => ({ ...claim, state: "contested", checkedAtMs: atMs });
  return changed(...held.map(({ claim }) => contest(claim)), contest(own));
}

/** An administrator of the deployment decides for `own`, which is contested. The others are claims again, which hold nothing. */
export function afterDecision(own: DomainClaim, others: readonly DomainClaim[], atMs: number): readonly DomainClaim[] {
  const lost = others.filter(isHeld).map((claim): DomainClaim => ({ ...claim, state: "pending", checkedAtMs: atMs }));
  return [...lost, { ...own, state: "verified", checkedAtMs: atMs, verifiedAtMs: atMs, absentSinceMs: undefined }];
}
