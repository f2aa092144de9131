import {
  type CertificateNames,
  canonicalAddress,
  readCertificateNames,
} from "@edge-op/protocol/mtls/certificate-names";
import { readClientCertificate } from "@edge-op/protocol/mtls/client-certificate";
import { isSameName, parseDistinguishedName } from "@edge-op/protocol/mtls/distinguished-name";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { usesCertificate, usesSecret } from "@edge-op/protocol/oauth/registered-names";
import type { Client, ClientMetadata } from "../clients/client.ts";
import { findProfileFault } from "../clients/security-profile.ts";
import type { Form } from "../http/read-form.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { claimedClientId, verifyClientAssertion } from "./client-assertion.ts";
import { matchesClientSecret } from "./client-secret.ts";
import type { ClientAuthBindings, ClientAuthIsolate } from "./endpoint-isolate.ts";
import {
  invalidClient,
  methodDiffers,
  type PresentedCredentials,
  readPresentedCredentials,
  requireRegistered,
} from "./presented-credentials.ts";

/**
 * **Authenticates the client of a request**: the one module for every endpoint. Only the registered method counts (presented-credentials.ts), a
 * disabled client fails like an unknown one, and failures of confidential clients read the same to the caller.
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
  const header = request.headers.get("authorization");
  context.progress.claimedClientId = form.get("client_id");
  const known = header === null ? undefined : isolate.knownCredentials.find(context, header, form);
  const client =
    known ?? (await authenticateAnew(context, isolate, request, readPresentedCredentials(header, form), endpoint));
  countRequestOf(context, isolate, client, endpoint);
  if (header !== null && known === undefined) {
    isolate.knownCredentials.add(context, header, client, authenticatedUntilMs(client, context.arrivedAtMs));
  }
  return client;
}

/** The client that a request names, to read its copy ahead; not verified. */
export function namedClientId(request: Pick<Request, "headers">, form: Form): string | undefined {
  try {
    const presented = readPresentedCredentials(request.headers.get("authorization"), form);
    return presented.method === "private_key_jwt" ? claimedClientId(presented) : presented.clientId;
  } catch {
    // Authentication refuses the request and says why.
    return undefined;
  }
}

async function authenticateAnew(
  context: RequestContext<ClientAuthBindings>,
  isolate: ClientAuthIsolate,
  request: Pick<Request, "headers">,
  presented: PresentedCredentials,
  endpoint: string,
): Promise<Client> {
  context.progress.claimedClientId =
    presented.method === "private_key_jwt" ? claimedClientId(presented) : presented.clientId;
  const client = await authenticate(context, isolate, request, presented, endpoint);
  const fault = findProfileFault(context.settings, client);
  if (fault === undefined) return client;
  throw invalidClient("client-breaks-profile", request.headers.has("authorization"), { detail: fault });
}

/** Counts a request of a client that has authenticated, by this request or an equal one; 429 beyond the limit. */
export function countRequestOf(
  context: RequestContext<ClientAuthBindings>,
  { rateShield }: Pick<ClientAuthIsolate, "rateShield">,
  { clientId }: Client,
  endpoint: string,
): void {
  context.progress.clientId = clientId;
  rateShield.countRequest(context, endpoint, clientId);
}

/**
 * Until when an equal request also authenticates the client, provided that its record does not change; `undefined` if each request is authenticated
 * by a value of its own or by the connection.
 */
export function authenticatedUntilMs({ metadata, secrets }: Client, atMs: number): number {
  if (!usesSecret(metadata.token_endpoint_auth_method)) return 0;
  const ends = secrets.map(({ expiresAtMs = Number.POSITIVE_INFINITY }) => expiresAtMs);
  return Math.min(...ends.filter((endsAtMs) => endsAtMs > atMs));
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
      return countingFailure(context, isolate, request, presented.clientId, (failing) =>
        authenticateBySecret(context, isolate, presented, failing),
      );
    case "private_key_jwt":
      return countingFailure(context, isolate, request, claimedClientId(presented), () =>
        verifyClientAssertion(context, isolate, presented, endpoint),
      );
    case "none":
      return countingFailure(context, isolate, request, presented.clientId, async () =>
        withoutCredentials(context, isolate, request, presented.clientId),
      );
  }
}

/** A request that contains only `client_id`: from a public client, or from one that authenticates by the certificate of its connection. */
async function withoutCredentials(
  context: RequestContext<ClientAuthBindings>,
  isolate: ClientAuthIsolate,
  request: Pick<Request, "headers">,
  clientId: string,
): Promise<Client> {
  const client = await isolate.clients.find(context, clientId);
  context.progress.namesKnownClient = client !== undefined;
  const method = client?.metadata.token_endpoint_auth_method ?? "none";
  if (!usesCertificate(method)) return requireRegistered(client, "none", false);
  return requireCertificate(context, isolate, request, requireRegistered(client, method, false));
}

/**
 * Counts a failure once, by the caller's address: before the client is looked up if that costs calls, so that a caller over the limit costs none, and
 * at the latest when `failing` is called. An early count is undone on success.
 */
async function countingFailure(
  context: RequestContext<ClientAuthBindings>,
  { clients, rateShield }: ClientAuthIsolate,
  request: Pick<Request, "headers">,
  clientId: string | undefined,
  authenticateBy: (failing: () => void) => Promise<Client>,
): Promise<Client> {
  let isCounted = false;
  const failing = () => {
    if (isCounted) return;
    isCounted = true;
    rateShield.countFailedAuthentication(context, request);
  };
  if (clientId !== undefined && !clients.isHeld(context, clientId)) failing();
  const wasCounted = isCounted;
  try {
    const client = await authenticateBy(failing);
    if (wasCounted) rateShield.discountAuthentication(context, request);
    return client;
  } catch (error) {
    if (error instanceof OAuthError) failing();
    throw error;
  }
}

async function authenticateBySecret(
  context: RequestContext<ClientAuthBindings>,
  isolate: ClientAuthIsolate,
  presented: Extract<PresentedCredentials, { secret: string }>,
  failing: () => void,
): Promise<Client> {
  const usedHeader = presented.method === "client_secret_basic";
  const matches = (client: Client | undefined): Promise<boolean> =>
    matchesClientSecret(context.env, presented.secret, client, context.arrivedAtMs);

  const held = await isolate.clients.find(context, presented.clientId);
  context.progress.namesKnownClient = held !== undefined;
  if (await matches(held)) return requireRegistered(held, presented.method, usedHeader);
  // Counted before D1 is read, so that guessing does not put load on it.
  failing();
  // From here on an unknown client and a wrong secret cost the same calls, so that the time does not distinguish them.
  const current = await isolate.clients.recheck(context, presented.clientId);
  context.progress.namesKnownClient = current !== undefined;
  if (await matches(current)) return requireRegistered(current, presented.method, usedHeader);
  await waitForFailureInterval(context);
  if (current === undefined) throw invalidClient("client-unknown", usedHeader);
  if (current.status === "active" && !usesSecret(current.metadata.token_endpoint_auth_method))
    throw methodDiffers(current, presented.method, usedHeader);
  throw invalidClient("client-secret-wrong", usedHeader);
}

const failureIntervalMs = 25;

/** Failures are sent at multiples of an interval after arrival, which hides the differences between cold and warm look-ups. */
function waitForFailureInterval({ arrivedAtMs }: RequestContext<unknown>): Promise<void> {
  const elapsedMs = Math.max(0, nowMs() - arrivedAtMs);
  return new Promise((resolve) => {
    setTimeout(resolve, failureIntervalMs - (elapsedMs % failureIntervalMs));
  });
}

/**
 * **Authenticates a client by its certificate** (RFC 8705 §2). `tls_client_auth`: a certificate of a trusted CA whose subject or
 * alternative name is the registered one. `self_signed_tls_client_auth`: the certificate itself is registered, in `x5c` of its key set.
 * Cost: 0 calls; 1 fetch if the keys of a `jwks_uri` are not cached.
 */
export async function requireCertificate(
  context: RequestContext<ClientAuthBindings>,
  isolate: ClientAuthIsolate,
  request: Pick<Request, "headers">,
  client: Client,
): Promise<Client> {
  const certificate = await readClientCertificate(context, request);
  if (certificate === undefined) throw invalidClient("certificate-missing", false);
  const names = certificate.der && readCertificateNames(certificate.der);
  if (names === undefined) throw invalidClient("certificate-malformed", false);
  // No chain is verified for a self-signed certificate, so its validity is not either.
  if (names.notBeforeMs > context.arrivedAtMs || names.notAfterMs < context.arrivedAtMs) {
    throw invalidClient("certificate-out-of-time", false);
  }
  if (client.metadata.token_endpoint_auth_method === "self_signed_tls_client_auth") {
    const isRegistered = await isolate.clientKeys.hasCertificate(context, client, certificate.thumbprint);
    if (isRegistered) return client;
    const refusal = isolate.clientKeys.explain(context, client, "certificate-not-registered");
    throw invalidClient(refusal.reason, false, refusal);
  }
  if (!certificate.isVerified) throw invalidClient("certificate-not-verified", false);
  if (!isRegisteredName(client.metadata, names)) {
    throw invalidClient("certificate-name-differs", false);
  }
  return client;
}

/** At most one of these members is registered. */
function isRegisteredName(metadata: ClientMetadata, { subject, dns, uri, ip, email }: CertificateNames): boolean {
  const {
    tls_client_auth_subject_dn: subjectName,
    tls_client_auth_san_dns: host,
    tls_client_auth_san_uri: registeredUri,
    tls_client_auth_san_ip: address,
    tls_client_auth_san_email: mailbox,
  } = metadata;
  if (subjectName !== undefined) {
    const registered = parseDistinguishedName(subjectName);
    return registered !== undefined && subject !== undefined && isSameName(registered, subject);
  }
  if (host !== undefined) return dns.some((name) => name.toLowerCase() === host.toLowerCase());
  if (registeredUri !== undefined) return uri.includes(registeredUri);
  if (address !== undefined) return ip.some((name) => name === canonicalAddress(address));
  return mailbox !== undefined && email.some((name) => lowerHost(name) === lowerHost(mailbox));
}

/** The domain of an address is case-insensitive; its local part is case-sensitive (RFC 5280 §7.5). */
function lowerHost(mailbox: string): string {
  const at = mailbox.lastIndexOf("@") + 1;
  return mailbox.slice(0, at) + mailbox.slice(at).toLowerCase();
}
