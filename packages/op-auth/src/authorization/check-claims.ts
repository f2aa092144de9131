import {
  type ClaimRequest,
  type ClaimRequests,
  type ClaimsRequest,
  coveredClaims,
  protocolClaims,
} from "@edge-op/protocol/oauth/claims";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { isReservedClaim } from "@edge-op/protocol/oauth/reserved-claims";
import { registeredScope } from "@edge-op/shared/clients/client";
import { coveredMappings } from "@edge-op/shared/users/attributes";
import type { AuthorizationRequest, CheckInput } from "./authorization-request.ts";

/** The parameter is stored with the request and the code, so its length is limited. */
const claimsCharacters = 8192;
const claimsAtMost = 64;

/**
 * **The `claims` parameter**: well-formed, of bounded size. An essential `acr` and a `sub` with a value are requirements; every other claim is
 * optional. Claims that the client's registered scope does not cover are ignored, as §5.5 permits for claims that are not understood, and
 * need no consent. Cost warm: 0; the mapping of attributes is read only for claims that this provider does not define.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ClaimsParameter
 */
export async function checkClaims(
  input: CheckInput,
): Promise<Pick<AuthorizationRequest, "claims" | "requiredAcr"> & { readonly claimedSubject: string | undefined }> {
  const text = input.parameters.get("claims");
  if (text === undefined) return { claims: undefined, requiredAcr: undefined, claimedSubject: undefined };
  if (text.length > claimsCharacters) throw refusal("claims-too-long");
  const { userinfo, id_token: idToken } = requireObject(parse(text));
  const within = (value: unknown) => withinRegistration(requireRequests(value), input);
  const claims: ClaimsRequest = {
    ...(userinfo === undefined ? {} : { userinfo: await within(userinfo) }),
    ...(idToken === undefined ? {} : { id_token: await within(idToken) }),
  };
  const acr = claims.id_token?.["acr"];
  const sub = claims.id_token?.["sub"]?.value ?? claims.userinfo?.["sub"]?.value;
  return {
    claims,
    requiredAcr: acr?.essential ? requestedValues(acr) : undefined,
    claimedSubject: sub === undefined ? undefined : String(sub),
  };
}

async function withinRegistration(
  requests: ClaimRequests,
  { context, isolate, client }: CheckInput,
): Promise<ClaimRequests> {
  const registered = registeredScope(client);
  const others = Object.keys(requests).filter((name) => !isReservedClaim(name));
  const mapped = others.length === 0 ? [] : (await isolate.users.findMapping(context)).attributes;
  const ofAttributes = coveredMappings(others, mapped, { clientId: client.clientId, registeredScope: registered });
  const kept = [...protocolClaims, ...coveredClaims(requests, registered), ...ofAttributes];
  return Object.fromEntries(Object.entries(requests).filter(([name]) => kept.includes(name)));
}

/** `undefined` if any value satisfies the request. */
export function requestedValues({ value, values }: ClaimRequest): string[] | undefined {
  const asked = [...(value === undefined ? [] : [value]), ...(values ?? [])].map(String);
  return asked.length === 0 ? undefined : asked;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refusal("claims-malformed");
  }
}

function requireObject(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw refusal("claims-malformed");
  return value as Record<string, unknown>;
}

function requireRequests(value: unknown): ClaimRequests {
  const requests = Object.entries(requireObject(value));
  if (requests.length > claimsAtMost) throw refusal("claims-too-many");
  return Object.fromEntries(requests.map(([name, request]) => [name, requireRequest(request)]));
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** Members that are not understood are ignored (§5.5.1). */
function requireRequest(value: unknown): ClaimRequest | null {
  if (value === null) return null;
  const { essential, value: one, values } = requireObject(value);
  if (essential !== undefined && typeof essential !== "boolean") throw refusal("claims-malformed");
  if (one !== undefined && !isScalar(one)) throw refusal("claims-malformed");
  if (values !== undefined && !(Array.isArray(values) && values.every(isScalar))) throw refusal("claims-malformed");
  return {
    ...(essential === undefined ? {} : { essential }),
    ...(one === undefined ? {} : { value: one }),
    ...(values === undefined ? {} : { values: values as readonly (string | number | boolean)[] }),
  };
}

function refusal(reason: RefusalReason): OAuthError {
  return new OAuthError("invalid_request", reason, { description: "The claims parameter is malformed." });
}
