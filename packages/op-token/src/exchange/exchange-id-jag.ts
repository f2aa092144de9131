import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { type AuthenticationEvent, authenticationClaims } from "@edge-op/protocol/oauth/login-context";
import { tokenTypes } from "@edge-op/protocol/oauth/registered-names";
import { registeredSpelling, requireResourceIndicator } from "@edge-op/protocol/oauth/resource-indicator";
import { formatScope, parseScope } from "@edge-op/protocol/oauth/scope";
import { type Client, type IdJagTarget, isPublicClient, listAllows } from "@edge-op/shared/clients/client";
import { signatureFor } from "@edge-op/shared/clients/security-profile";
import { limits } from "@edge-op/shared/config/limits";
import type { Repeatable } from "@edge-op/shared/control/remembered-decisions";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { idJagType } from "@edge-op/shared/issuers/check-token";
import type { KeyBindings } from "@edge-op/shared/keys/key-ring";
import { revocationSubjects, type TokenSigner } from "@edge-op/shared/tokens/access-token";
import { readIdToken } from "@edge-op/shared/tokens/id-token";
import type { GrantRequest, IssueRequest, TokenResponse } from "../grant-module.ts";
import { requireActive } from "../issuing/find-active-user.ts";
import { unacceptableToken } from "../issuing/issue-due-token.ts";

type IdJagRequest = GrantRequest<
  "subject_token" | "subject_token_type" | "actor_token" | "scope" | "audience" | "resource"
>;

/**
 * **Issues an ID-JAG**: an ID token of this provider for a JWT by which the same client gets a token for the user at another authorization server.
 * Denied by default; the client's `id_jag_targets` allow pairs of audiences and resources. An ID-JAG is not bound to a key and not spent here; it
 * expires after 5 minutes. Cost warm: 0 calls, 1 verification, 1 signature (`direct`: 1 object call).
 *
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-oauth-identity-assertion-authz-grant-04
 */
export async function decideIdJag(request: IdJagRequest): Promise<DueIdJag> {
  const { context, isolate, client, form } = request;
  if (client.metadata.id_jag_targets === undefined || isPublicClient(client)) {
    throw new OAuthError("unauthorized_client", "id-jag-targets-missing");
  }
  if (form.get("actor_token") !== undefined) {
    throw new OAuthError("invalid_request", "id-jag-with-actor", {
      description: "An actor_token is not supported for this requested_token_type.",
    });
  }
  const subject = await readSubject(request);
  const { target, resources } = requestedTarget(request, client.metadata.id_jag_targets);
  const scope = allowedScope(form.get("scope"), target);
  const [user, isRevoked] = await Promise.all([
    isolate.users.find(context, subject.sub),
    isolate.revocation.isRevoked(context, revocationSubjects(subject)),
  ]);
  const { claims } = requireActive(user, "invalid_request");
  if (isRevoked) throw unacceptableToken("subject-token-revoked");
  return {
    idJag: {
      sub: subject.sub,
      audience: target.audience,
      clientId: target.client_id,
      resources,
      scope,
      userClaims: Object.fromEntries(
        Object.entries(claims).filter(([name]) => target.claims?.some((each) => each === name)),
      ),
      authentication: subject,
    },
  };
}

export interface DueIdJag extends Repeatable {
  readonly idJag: Omit<IdJagContent, "issuedAtSeconds" | "expiresAtSeconds">;
}

export async function issueIdJag(request: IssueRequest, { idJag }: DueIdJag): Promise<TokenResponse> {
  const { context, isolate, client } = await request.commit();
  const issuedAtSeconds = toSeconds(context.arrivedAtMs);
  const expiresAtSeconds = issuedAtSeconds + limits.idJagSeconds;
  return {
    access_token: await signIdJag(context, isolate, client, { ...idJag, issuedAtSeconds, expiresAtSeconds }),
    // RFC 8693 §2.2.1: it is not an access token.
    token_type: "N_A",
    expires_in: limits.idJagSeconds,
    issued_token_type: tokenTypes.idJag,
    ...(idJag.scope.length === 0 ? {} : { scope: formatScope(idJag.scope) }),
  };
}

/** Accepts only an ID token that was issued to this client: another client's user has not signed in to it (draft §4.3.3). */
async function readSubject({ context, isolate, client, form }: IdJagRequest) {
  const token = form.require("subject_token");
  if (form.require("subject_token_type") !== tokenTypes.idToken) {
    throw new OAuthError("invalid_request", "id-jag-subject-type", {
      description: "The subject_token_type must be that of an ID token.",
    });
  }
  const idToken = await readIdToken(context, isolate, token);
  if (idToken === undefined) throw unacceptableToken("subject-token-invalid");
  if (idToken.clientId !== client.clientId) throw unacceptableToken("subject-token-of-other-client");
  // Another server knows no organisation of this one: it would take the person for all of them.
  if (idToken.orgId !== undefined) throw unacceptableToken("organization-parameter");
  return idToken;
}

/** Requires one authorization server, and resources that are paired with it. */
function requestedTarget({ form }: IdJagRequest, targets: readonly IdJagTarget[]) {
  const [audience, ...others] = new Set(form.all("audience"));
  if (audience === undefined || others.length > 0) {
    throw new OAuthError("invalid_request", "id-jag-audience", {
      description: "The parameter audience must be given once: the issuer of the other authorization server.",
    });
  }
  const asked = [...new Set(form.all("resource"))].map(requireResourceIndicator);
  if (asked.length > limits.audiences) throw new OAuthError("invalid_target", "targets-too-many");
  const target = targets.find((candidate) => isSameServer(candidate.audience, audience));
  if (target === undefined) throw new OAuthError("invalid_target", "id-jag-target");
  const resources = [...new Set(asked.map((resource) => registeredSpelling(resource, target.resources)))];
  if (!resources.every((resource) => listAllows(target.resources, resource))) {
    throw new OAuthError("invalid_target", "id-jag-target");
  }
  // Without a resource, an ID-JAG would be valid for every one, so it names those of the pair.
  const named = target.resources.filter((resource) => resource !== "*");
  return { target, resources: resources.length > 0 ? resources : named };
}

/**
 * An issuer without a path is the same with a slash (RFC 3986 §6.2.3), and URL libraries add one. `aud` is the registered value, because the other
 * server compares it byte for byte.
 */
function isSameServer(registered: string, requested: string): boolean {
  if (requested === registered) return true;
  return requested === `${registered}/` && URL.canParse(registered) && new URL(registered).origin === registered;
}

/** The requested scope within the target's scope; without a request, the target's whole scope. */
function allowedScope(requested: string | undefined, { scopes }: IdJagTarget): readonly string[] {
  const asked = parseScope(requested);
  if (asked === undefined) return scopes.filter((value) => value !== "*");
  const scope = asked.filter((value) => listAllows(scopes, value));
  if (scope.length === 0) throw new OAuthError("invalid_scope", "scope-empty");
  return scope;
}

interface IdJagContent {
  readonly sub: string;
  /** The issuer identifier of the other authorization server. */
  readonly audience: string;
  /** The client's id at that server. */
  readonly clientId: string;
  readonly resources: readonly string[];
  readonly scope: readonly string[];
  readonly userClaims: Readonly<Record<string, unknown>>;
  readonly authentication: AuthenticationEvent;
  readonly issuedAtSeconds: number;
  readonly expiresAtSeconds: number;
}

/**
 * **The ID-JAG format**: a JWT for one client at one other authorization server, signed like the client's ID tokens. Its `typ` distinguishes it from
 * every token that this provider accepts as its own. Cost: 1 signature.
 *
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-oauth-identity-assertion-authz-grant-04#section-3
 */
function signIdJag(
  context: RequestContext<KeyBindings>,
  { keyRing }: TokenSigner,
  client: Client,
  content: IdJagContent,
): Promise<string> {
  const { resources, scope } = content;
  const { settings } = context;
  const alg = signatureFor(settings, client, client.metadata.id_token_signed_response_alg, settings.idTokenAlgorithm);
  const claims = {
    ...content.userClaims,
    iss: settings.issuer,
    sub: content.sub,
    aud: content.audience,
    client_id: content.clientId,
    jti: randomBase64Url(16),
    iat: content.issuedAtSeconds,
    exp: content.expiresAtSeconds,
    resource: resources.length === 0 ? undefined : resources.length === 1 ? resources[0] : resources,
    scope: scope.length === 0 ? undefined : formatScope(scope),
    ...authenticationClaims(content.authentication),
  };
  return keyRing.sign(context, { alg, typ: idJagType, claims });
}
