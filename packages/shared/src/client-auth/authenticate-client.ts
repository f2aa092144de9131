import type { Client } from "../directory/client.ts";
import type { Form } from "../http/read-form.ts";
import type { RequestContext } from "../http/request-context.ts";
import { OAuthError } from "../oauth/errors.ts";
import { verifyClientAssertion } from "./client-assertion.ts";
import type { ClientAuthBindings, ClientAuthIsolate } from "./client-auth-isolate.ts";
import { matchesClientSecret } from "./client-secret.ts";
import { invalidClient, type PresentedCredentials, readPresentedCredentials } from "./presented-credentials.ts";
import { requireRegistered } from "./registered-method.ts";

/**
 * **Authenticates the client of a request**: the one module for every endpoint. Only the registered method counts, a
 * disabled client fails like an unknown one, and every failure reads the same to the caller.
 * Cost warm: 0 calls; `private_key_jwt` 1 object call (the assertion's `jti` is spent).
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-2.3
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication
 * @param endpoint its path: a client's requests are counted by endpoint, and an assertion may name it as its audience.
 */
export async function authenticateClient(
  context: RequestContext<ClientAuthBindings>,
  isolate: ClientAuthIsolate,
  request: Pick<Request, "headers">,
  form: Form,
  endpoint: string,
): Promise<Client> {
  const presented = readPresentedCredentials(request, form);
  const client = await authenticate(context, isolate, request, presented, endpoint);
  isolate.rateShield.countRequest(context, endpoint, client.clientId);
  return client;
}

async function authenticate(
  context: RequestContext<ClientAuthBindings>,
  isolate: ClientAuthIsolate,
  request: Pick<Request, "headers">,
  presented: PresentedCredentials,
  endpoint: string,
): Promise<Client> {
  switch (presented.method) {
    case "client_secret_basic":
    case "client_secret_post":
      return authenticateBySecret(context, isolate, request, presented);
    case "private_key_jwt":
      return countingFailure(context, isolate, request, () =>
        verifyClientAssertion(context, isolate, presented, endpoint),
      );
    case "none":
      return countingFailure(context, isolate, request, async () =>
        requireRegistered(await isolate.clients.find(context, presented.clientId), "none", false),
      );
  }
}

async function countingFailure(
  context: RequestContext<ClientAuthBindings>,
  isolate: ClientAuthIsolate,
  request: Pick<Request, "headers">,
  authenticateBy: () => Promise<Client>,
): Promise<Client> {
  try {
    return await authenticateBy();
  } catch (error) {
    if (error instanceof OAuthError) isolate.rateShield.countFailedAuthentication(context, request);
    throw error;
  }
}

async function authenticateBySecret(
  context: RequestContext<ClientAuthBindings>,
  isolate: ClientAuthIsolate,
  request: Pick<Request, "headers">,
  presented: Extract<PresentedCredentials, { secret: string }>,
): Promise<Client> {
  const usedHeader = presented.method === "client_secret_basic";
  const matches = (client: Client | undefined): Promise<boolean> =>
    matchesClientSecret(context.env, presented.secret, client?.secrets ?? [], context.arrivedAtMs);

  const held = await isolate.clients.find(context, presented.clientId);
  if (await matches(held)) return requireRegistered(held, presented.method, usedHeader);
  // Before the authority is asked: guessing must not become load on it.
  isolate.rateShield.countFailedAuthentication(context, request);
  if (held === undefined) throw invalidClient("unknown client", usedHeader);
  // An unknown client costs a look at the authority; a wrong secret does too, so that time does not tell them apart.
  const current = await isolate.clients.reload(context, presented.clientId);
  if (await matches(current)) return requireRegistered(current, presented.method, usedHeader);
  throw invalidClient("wrong or expired secret", usedHeader);
}
