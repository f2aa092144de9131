import { isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { removeIdentity } from "@edge-op/shared/users/identities";
import type { User } from "@edge-op/shared/users/user";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import { basisOf, type SignedInPerson } from "../session/signed-in-person.ts";
import { type Basis, writeAs } from "../session/write-as.ts";
import { type IdentityKey, insertIdentity } from "./identity-store.ts";

/**
 * **Connects the identity that waits with its person**, who has confirmed it. False if it is for someone else, was used, belongs to someone
 * meanwhile, or its provider was disabled. Cost: 1 object call and 1 D1 call after each other; tell-person.ts.
 */
export async function connectIdentity(
  { context, isolate }: PageRequest,
  user: User,
  basis: Basis,
  linkId: string,
): Promise<boolean> {
  const link = await takePendingLink(context, isolate, linkId);
  const { sub, claims } = user;
  if (link?.sub !== sub) return false;
  const { upstreamId } = link;
  if ((await isolate.upstreams.find(context, upstreamId)) === undefined) return false;
  const linked = { action: "identity.linked", target: upstreamId, actor: sub };
  const takesBack = { kind: "identity", id: JSON.stringify([upstreamId, link.issuer, link.subject]) } as const;
  const notice = { sub, claims, kind: "identity-linked", evidence: linked, takesBack } as const;
  const isLinked = await tellPerson(context, notice, async () => {
    const event = recordAdminEvent(context, linked, { ifChanged: true });
    const insert = insertIdentity(context.env.DB, { ...link, atMs: context.arrivedAtMs });
    return writeAs(context, basis, [insert, event]);
  });
  if (isLinked) wakeAuditLog(context);
  return isLinked;
}

/** **Disconnects an identity**, unless it is the person's last way in. Cost: 1 D1 call; tell-person.ts. */
export async function disconnectIdentity(
  { context }: PageRequest,
  person: SignedInPerson,
  key: IdentityKey,
): Promise<boolean> {
  const { sub, claims } = person.user;
  const unlinked = { action: "identity.unlinked", target: key.upstreamId, actor: sub };
  const isGone = await tellPerson(context, { sub, claims, kind: "identity-unlinked", evidence: unlinked }, async () => {
    const event = recordAdminEvent(context, unlinked, { ifChanged: true });
    const statements = removeIdentity(context.env.DB, sub, key, { event, keepsWayIn: true });
    return writeAs(context, basisOf(person), statements);
  });
  if (isGone) wakeAuditLog(context);
  return isGone;
}

/** **A verified identity that waits for its person to connect it**: for one user, and used once. */
export interface PendingLink extends IdentityKey {
  readonly sub: string;
  readonly label: string;
  /** The name of the provider. */
  readonly provider: string;
}

const isPendingLink = objectOf<PendingLink>({
  ...{ upstreamId: isText, issuer: isText, subject: isText },
  ...{ sub: isText, label: isText, provider: isText },
});

const kind = "upstream-link";
/** A person signs in between the two halves. */
const pendingMs = 15 * 60_000;

/** Returns its id. Cost: 1 object call, as each of these functions. */
export function keepPendingLink(
  context: RequestContext<AuthEnv>,
  { challenges }: AuthIsolate,
  link: PendingLink,
): Promise<string> {
  return challenges.put(context, kind, JSON.stringify(link), context.arrivedAtMs + pendingMs);
}

/** For the page that asks. */
export async function peekPendingLink(
  context: RequestContext<AuthEnv>,
  { challenges }: AuthIsolate,
  id: string,
): Promise<PendingLink | undefined> {
  return readLink(await challenges.peek(context, kind, id));
}

/** Taken once: after the person has disconnected the identity, an old page does not connect it again. */
async function takePendingLink(
  context: RequestContext<AuthEnv>,
  { challenges }: AuthIsolate,
  id: string,
): Promise<PendingLink | undefined> {
  return readLink(await challenges.take(context, kind, id));
}

function readLink(text: string | undefined): PendingLink | undefined {
  return text === undefined ? undefined : readStored("upstream link", text, isPendingLink);
}
