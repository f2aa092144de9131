import { type Client, listAllows, type TokenExchangePolicy } from "@edge-op/shared/clients/client";
import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import { limits } from "@edge-op/shared/config/limits";
import type { ActorClaim } from "@edge-op/shared/tokens/verified-tokens";
import type { ClientRequest } from "../grant-module.ts";
import { requireActive } from "../issuing/find-active-user.ts";
import { unacceptableToken } from "../issuing/issue-due-token.ts";
import type { ExchangeParty } from "./exchange-party.ts";

/**
 * The actor is another party than the subject: a client with its own token, or a client whose tokens it may present, or a user there. If the subject
 * were its own actor, this would be impersonation disguised as delegation. A token that is itself delegated acts for nobody.
 */
export function requireActor(
  actor: ExchangeParty,
  subject: ExchangeParty,
  client: Client,
  policy: TokenExchangePolicy,
): void {
  if (actor.sub === subject.sub) throw unacceptableToken("actor-is-subject");
  const isOwn = actor.external !== undefined || actor.clientId === client.clientId;
  if (!isOwn && !listAllows(policy.subject_clients, actor.clientId)) {
    throw unacceptableToken("actor-not-allowed", `an actor token of ${actor.clientId}`);
  }
  if (actor.act !== undefined) throw unacceptableToken("actor-token-delegated");
}

/** If the subject names who may act (RFC 8693 §4.4), the actor, or the client if there is no actor, must be that party. */
export function requireMayAct(
  { context, client }: ClientRequest,
  subject: ExchangeParty,
  actor: ExchangeParty | undefined,
): void {
  if (subject.mayAct === undefined) return;
  const clientId = actor === undefined ? client.clientId : shownClientId(actor);
  const acting = { sub: actor?.sub ?? client.clientId, client_id: clientId };
  const { sub, client_id: named, iss, ...others } = subject.mayAct;
  const isNamed = sub !== undefined || named !== undefined;
  const matches =
    isNamed &&
    (sub === undefined || sub === acting.sub) &&
    (named === undefined || named === acting.client_id) &&
    // The same name at another issuer is another party.
    (iss === undefined || iss === context.settings.issuer) &&
    Object.keys(others).length === 0;
  if (!matches) throw unacceptableToken("may-act-differs");
}

/** The newest actor is outermost; earlier ones nest inside it and decide nothing (RFC 8693 §4.1). */
export async function nextActor(
  request: ClientRequest,
  subject: ExchangeParty,
  actor: ExchangeParty | undefined,
): Promise<ActorClaim | undefined> {
  const earlier = await shownActors(request, subject.act);
  if (actor === undefined) return earlier;
  let depth = 1;
  for (let each = earlier; each !== undefined; each = each.act) depth += 1;
  if (depth > limits.actorDepth) throw unacceptableToken("actors-too-many", `${depth} actors`);
  if (actor.forUser) requireActive(await request.isolate.users.find(request.context, actor.sub), "invalid_request");
  const clientId = shownClientId(actor);
  return shownActor(request, { sub: actor.sub, ...(clientId === undefined ? {} : { client_id: clientId }) }, earlier);
}

/** The client of an actor. An actor of a trusted issuer has one only if it stands for a service client or acts by it. */
function shownClientId({ external, clientId, forUser }: ExchangeParty): string | undefined {
  if (external === undefined) return clientId;
  return forUser ? undefined : external.rule.client_id;
}

/** The actors of the subject token, as this client may see them. */
async function shownActors(request: ClientRequest, actor: ActorClaim | undefined): Promise<ActorClaim | undefined> {
  if (actor === undefined) return undefined;
  const { act, ...newest } = actor;
  return shownActor(request, newest, await shownActors(request, act));
}

/**
 * A pairwise client also sees an acting user by a pairwise subject (OIDC Core §8.1): the `sub` at another client, which an earlier actor has, would
 * identify the user across sectors. A client that acts for itself is its own subject.
 */
async function shownActor(
  { context, client }: ClientRequest,
  { sub, ...rest }: Omit<ActorClaim, "act">,
  act: ActorClaim | undefined,
): Promise<ActorClaim> {
  const shownSub = sub === rest.client_id ? undefined : await pairwiseSubject(context.env, client, sub);
  return { sub: shownSub ?? sub, ...rest, ...(act === undefined ? {} : { act }) };
}
