import { registeredSpelling } from "@edge-op/protocol/oauth/resource-indicator";
import { type Client, listAllows } from "@edge-op/shared/clients/client";
import { logDecided, type RequestContext } from "@edge-op/shared/http/request-context";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";

type SeenToken = Pick<AccessToken, "clientId" | "audiences">;

/**
 * **The tokens that a client may introspect**: its own, those addressed to its `client_id`, and those that its `introspection` policy names by client
 * or by audience (ADR 49). Any other token is inactive.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662#section-4
 */
export function maySee(caller: Client, token: SeenToken): boolean {
  if (token.clientId === caller.clientId || token.audiences.includes(caller.clientId)) return true;
  const { clients, audiences } = caller.metadata.introspection ?? {};
  if (clients !== undefined && listAllows(clients, token.clientId)) return true;
  return (
    audiences !== undefined &&
    token.audiences.some((audience) => listAllows(audiences, registeredSpelling(audience, audiences)))
  );
}

/** The response is the same as for an unknown token (RFC 7662 §2.2); an operator finds the reason in the log. */
export function noteInvisible(context: RequestContext<unknown>, caller: Client, token: SeenToken): void {
  logDecided(context, "introspection-not-allowed", {
    clientId: caller.clientId,
    detail: "a live token of another client and audience; the caller's introspection policy names neither",
    tokenClientId: token.clientId,
    tokenAudiences: token.audiences,
    requestId: context.requestId,
  });
}
