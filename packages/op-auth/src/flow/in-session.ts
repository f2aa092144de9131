import type { Client } from "@edge-op/shared/clients/client";
import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import type { OpenDecision } from "@edge-op/shared/control/settle";
import type { Session, SessionClient } from "@edge-op/shared/sessions/session-rpc";
import { type PreparedSession, sessionVersion } from "@edge-op/shared/sessions/sessions";
import { seenFor } from "@edge-op/shared/sessions/usable-proofs";
import type { CodeRequest } from "../authorization/authorization-request.ts";
import { type PlannedGrant, sessionGrant } from "../authorization/plan-grant.ts";
import type { PageRequest } from "../pages/frame.ts";
import { judgeAlone, type Whose } from "../session/choose-account.ts";
import { type AccountOfRequest, findSignedInUser, type SignedInPerson, seenBy } from "../session/signed-in-person.ts";

/** A checked request that is being decided. */
export interface CheckedRequest {
  readonly client: Client;
  readonly request: CodeRequest;
  /** The id of the pushed request, if there was one. */
  readonly pushedId: string | undefined;
  readonly decision: OpenDecision;
}

/** The session in which a request is decided. */
export interface InSession {
  readonly session: Session;
  readonly sessionId: string;
  /** The client's record in the session, if it got a code there before. */
  readonly known: SessionClient | undefined;
  /** The last dismissal of a client in the session, read before the consent. */
  readonly dismissal: number | undefined;
  readonly subject: string;
  readonly grant: PlannedGrant;
  /** Whether the session has recorded the grant. */
  readonly isRecorded: boolean;
}

/**
 * The session of the request's account, of an active user that no cut-off has ended. Uses it, unless it was read. `ask`: the request is not for the
 * only account of the browser, or there are several.
 */
export async function findInSession(
  at: PageRequest,
  account: AccountOfRequest,
  { client, request }: CheckedRequest,
  { grant, whose }: { readonly grant: PlannedGrant; readonly whose: Whose },
): Promise<InSession | "ask" | undefined> {
  const { context, isolate } = at;
  if (account.kind === "ask") return "ask";
  if (account.kind === "nobody") return undefined;
  const find = async () => {
    if (account.kind === "person") {
      const { person, isHidden } = await seenBy(account.person, whose);
      if (isHidden) return undefined;
      const known = person.clients.find(({ clientId }) => clientId === client.clientId);
      return { ...person, known, isRecorded: false };
    }
    const { id: sessionId } = account;
    const recorded = sessionGrant(client, request, grant);
    const use = await isolate.sessions.use(context, sessionId, client.clientId, recorded);
    const user = use && (await findSignedInUser(context, isolate, sessionVersion(sessionId), use.session));
    if (use === undefined || user === undefined) return undefined;
    const { session, isHidden } = seenFor(use.session, request.organization);
    return isHidden
      ? undefined
      : { ...use, session, sessionId, user, known: use.client, isRecorded: use.client !== undefined };
  };
  const found = await find();
  if (found === undefined) return undefined;
  const { session, sessionId, user, dismissal, isRecorded } = found;
  const judged = account.kind === "session" && account.isAlone ? await judgeAlone(at, user, whose) : "account";
  if (judged !== "account") return judged === "ask" ? "ask" : undefined;
  const subject = (await pairwiseSubject(context.env, client, user.sub)) ?? user.sub;
  return { session, sessionId, known: sameRegistration(found.known, client), dismissal, subject, grant, isRecorded };
}

/** The client's record in the session, unless it belongs to a deleted client of the same id. */
function sameRegistration(known: SessionClient | undefined, { createdAtMs }: Client): SessionClient | undefined {
  return createdAtMs !== undefined && known?.registeredAtMs === createdAtMs ? known : undefined;
}

/** In a session that is to be opened, and may replace that of `person`. */
export function newlyIn(
  { session, id, replaces }: PreparedSession,
  person: SignedInPerson | undefined,
  subject: string,
  grant: PlannedGrant,
  client: Client,
): InSession {
  const replaced = replaces === undefined ? undefined : person;
  const known = replaced?.clients.find(({ clientId }) => clientId === client.clientId);
  const dismissal = replaced === undefined ? 0 : replaced.dismissal;
  return {
    session,
    sessionId: id,
    known: sameRegistration(known, client),
    dismissal,
    subject,
    grant,
    isRecorded: false,
  };
}
