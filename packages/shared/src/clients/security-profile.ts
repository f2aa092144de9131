/**
 * **FAPI 2.0 for a client**: its profile, the allowed algorithms, and the faults of its registration. Endpoints apply the profile's rules about
 * requests. Pure.
 *
 * @see https://openid.net/specs/fapi-security-profile-2_0-final.html#section-5.3.2
 */

import type { SigningAlgorithm } from "@edge-op/protocol/jwt/signing-algorithms";
import { type FieldError, OAuthError, shownValue } from "@edge-op/protocol/oauth/errors";
import type { SecurityProfile } from "../config/setting-values.ts";
import type { Settings } from "../config/settings.ts";
import type { Resource } from "../resources/resource.ts";
import type { Client, ClientMetadata } from "./client.ts";

type ProfileSettings = Pick<Settings, "securityProfile">;

/** RS256 is excluded (§5.4.1), because PKCS #1 v1.5 has weaknesses that PSS does not have. */
const fapiAlgorithms: readonly SigningAlgorithm[] = ["PS256", "ES256", "EdDSA"];

/** Methods by which only the holder of a private key can authenticate (§5.3.2.1 item 6). */
const fapiAuthMethods: readonly string[] = ["private_key_jwt", "tls_client_auth", "self_signed_tls_client_auth"];

const algorithmMembers = [
  "token_endpoint_auth_signing_alg",
  "request_object_signing_alg",
  "id_token_signed_response_alg",
  "userinfo_signed_response_alg",
  "introspection_signed_response_alg",
  "authorization_signed_response_alg",
  "access_token_signed_response_alg",
] as const;

/** The members of a registration that a profile constrains. */
type ProfileMembers = {
  readonly [Name in (typeof algorithmMembers)[number] | "application_type" | "require_pkce"]?:
    | ClientMetadata[Name]
    | undefined;
} & Pick<ClientMetadata, "token_endpoint_auth_method" | "redirect_uris"> & {
    readonly jwks?: object | undefined;
    readonly jwks_uri?: string | undefined;
  };

function profileOf({ securityProfile }: ProfileSettings, { metadata }: Pick<Client, "metadata">): SecurityProfile {
  return metadata.security_profile ?? securityProfile;
}

export function isFapi(settings: ProfileSettings, client: Pick<Client, "metadata">): boolean {
  return profileOf(settings, client) !== "none";
}

/** Whether requests and responses must also be signed. */
export function signsMessages(settings: ProfileSettings, client: Pick<Client, "metadata">): boolean {
  return profileOf(settings, client) === "fapi2_message_signing";
}

/** The algorithms that the client may sign with: the one that it registered for the purpose, or those of its profile; `undefined` for any. */
export function allowedAlgorithms(
  settings: ProfileSettings,
  client: Pick<Client, "metadata">,
  registered: SigningAlgorithm | undefined,
): readonly SigningAlgorithm[] | undefined {
  if (registered !== undefined) return [registered];
  return isFapi(settings, client) ? fapiAlgorithms : undefined;
}

/** Whether {@link allowedAlgorithms} allows an algorithm for proofs, for which a client registers none. */
export function isAllowedAlgorithm(settings: ProfileSettings, client: Pick<Client, "metadata">, alg: string): boolean {
  return !isFapi(settings, client) || fapiAlgorithms.some((allowed) => allowed === alg);
}

/**
 * The algorithm that this provider signs with for a client: the registered one, else the default; ES256 if FAPI excludes that, also for a client that
 * registered it before the deployment was switched to FAPI.
 */
export function signatureFor(
  settings: ProfileSettings,
  client: Pick<Client, "metadata">,
  registered: SigningAlgorithm | undefined,
  usual: SigningAlgorithm,
): SigningAlgorithm {
  const alg = registered ?? usual;
  return alg === "RS256" && isFapi(settings, client) ? "ES256" : alg;
}

/** Refuses resources whose tokens are signed with an algorithm that the client's profile excludes; a resource cannot verify another one. */
export function requireAllowedSignatures(
  settings: ProfileSettings,
  client: Pick<Client, "metadata">,
  resources: readonly Resource[],
): void {
  if (!isFapi(settings, client)) return;
  for (const { identifier, metadata } of resources) {
    const { access_token_signed_response_alg: alg } = metadata;
    if (alg === undefined || fapiAlgorithms.includes(alg)) continue;
    throw new OAuthError("invalid_target", "fapi-resource-algorithm", {
      description: `The tokens of ${shownValue(identifier)} are signed with ${alg}, which FAPI 2.0 does not allow.`,
    });
  }
}

/** The algorithms of a list that a deployment with this profile supports; for its metadata. */
export function algorithmsWithin(profile: SecurityProfile, algorithms: readonly SigningAlgorithm[]): readonly string[] {
  return profile === "none" ? algorithms : algorithms.filter((alg) => fapiAlgorithms.includes(alg));
}

/** The authentication methods of a list that a deployment with this profile supports; for its metadata. */
export function authMethodsWithin(profile: SecurityProfile, methods: readonly string[]): readonly string[] {
  return profile === "none" ? methods : methods.filter((method) => fapiAuthMethods.includes(method));
}

/** The faults of a client's registration for a profile; none without FAPI. */
export function profileFaults(metadata: ProfileMembers, profile: SecurityProfile): readonly FieldError[] {
  if (profile === "none") return [];
  const faults: FieldError[] = [];
  const { token_endpoint_auth_method: method, application_type: type, redirect_uris: uris } = metadata;
  if (!fapiAuthMethods.includes(method)) {
    faults.push({
      path: "token_endpoint_auth_method",
      message: `must be one of ${fapiAuthMethods.join(", ")} for FAPI 2.0`,
    });
  }
  for (const name of algorithmMembers) {
    const alg = metadata[name];
    if (alg === undefined || fapiAlgorithms.includes(alg)) continue;
    faults.push({ path: name, message: `must be one of ${fapiAlgorithms.join(", ")} for FAPI 2.0` });
  }
  // §5.3.2.2 item 8: http only for loopback redirection of native applications.
  if (type !== "native" && uris.some((uri) => uri.startsWith("http:"))) {
    faults.push({ path: "redirect_uris", message: "must be https for FAPI 2.0, except for a native application" });
  }
  if (metadata.require_pkce === false) {
    faults.push({ path: "require_pkce", message: "must not be false for FAPI 2.0" });
  }
  const hasKeys = metadata.jwks !== undefined || metadata.jwks_uri !== undefined;
  if (profile === "fapi2_message_signing" && uris.length > 0 && !hasKeys) {
    faults.push({ path: "jwks", message: "jwks or jwks_uri is required to sign requests" });
  }
  return faults;
}

/** The first fault of a registered client, for the log; the deployment's profile may be newer than its registration. */
export function findProfileFault(settings: ProfileSettings, client: Client): string | undefined {
  const [fault] = profileFaults(client.metadata, profileOf(settings, client));
  return fault === undefined ? undefined : `${fault.path} ${fault.message}`;
}
