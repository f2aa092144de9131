import { connectionMethods, findAuthentication } from "@edge-op/protocol/oauth/authentication-context";
import type { Proof, Session } from "./session-rpc.ts";

/**
 * **O3: what an organisation's connection has said counts for this organisation alone.** The person's own credentials and the providers of the
 * deployment count everywhere. Whoever reads proofs gets them from here: a session by {@link seenFor}, a flow by {@link usableProofs}. So a session
 * that rests on A's connection alone is no sign-in for B, for a request without an organisation, and for the account pages. `organization` is
 * `undefined` for these two. Pure. `test/organization-proofs.test.ts` of op-auth lists every reader.
 */
export function usableProofs(proofs: readonly Proof[], organization: string | undefined): readonly Proof[] {
  return hasOrganization(proofs) ? proofs.filter((proof) => isUsable(proof, organization)) : proofs;
}

/** A method of connections without an organisation counts nowhere; an organisation counts whatever the method, which a later release may know. */
function isUsable({ method, organization }: Proof, asked: string | undefined): boolean {
  if (connectionMethods.includes(method) && organization === undefined) return false;
  return organization === undefined || organization === asked;
}

/** Whether some of the proofs count for one organisation only. */
export function hasOrganization(proofs: readonly Proof[]): boolean {
  return proofs.some(({ method, organization }) => organization !== undefined || connectionMethods.includes(method));
}

/**
 * **Whether proofs rest on an organisation's connection alone.** They give access to what is the organisation's, and change nothing that is the
 * person's: no credential, agreement or known browser.
 */
export function restOnConnection(proofs: readonly Proof[]): boolean {
  return hasOrganization(proofs) && findAuthentication(usableProofs(proofs, undefined), undefined) === undefined;
}

/** A session as a request for one organisation, or for none, may see it. */
export interface SeenSession {
  readonly session: Session;
  /** Proofs of other organisations. A session that replaces this one keeps them, and nothing else reads them. */
  readonly withheld: readonly Proof[];
  /** For this request nobody is signed in. */
  readonly isHidden: boolean;
}

/** **What of a session counts for an organisation.** Its sign-in is not younger than the proofs that count. */
export function seenFor(session: Session, organization: string | undefined, known: readonly Proof[] = []): SeenSession {
  const all = [...session.proofs, ...known];
  const proofs = usableProofs(all, organization);
  if (proofs.length === all.length && known.length === 0) return { session, withheld: [], isHidden: false };
  const newestMs = Math.max(0, ...proofs.map(({ atMs }) => atMs));
  return {
    session: { ...session, proofs, signedInAtMs: Math.min(session.signedInAtMs, newestMs) },
    withheld: all.filter((proof) => !proofs.includes(proof)),
    isHidden: findAuthentication(proofs, undefined) === undefined,
  };
}

/** A person may act for many organisations in one browser; the oldest of their proofs are forgotten. */
const organizationsKept = 10;

/** **The proofs of a session in place of another one**: the newest of each method and, of connections, of each organisation. */
export function joinProofs(known: readonly Proof[], added: readonly Proof[]): readonly Proof[] {
  const isSame = (left: Proof, right: Proof) =>
    left.method === right.method && left.organization === right.organization;
  const kept = known.filter((proof) => !added.some((each) => isSame(proof, each)));
  const all = [...kept, ...added];
  if (!hasOrganization(all)) return all;
  const ofOrganizations = all.filter(({ organization }) => organization !== undefined);
  const forgotten = ofOrganizations.toSorted((left, right) => right.atMs - left.atMs).slice(organizationsKept);
  return all.filter((proof) => !forgotten.includes(proof));
}
