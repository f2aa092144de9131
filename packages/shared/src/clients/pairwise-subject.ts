import { decodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { macText } from "../secrets/mac.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { ivBytes, openSealed, sealText } from "../secrets/seal.ts";
import type { Client } from "./client.ts";

/**
 * **The `sub` of a user for a client with `subject_type: pairwise`**: equal for all clients of one sector, different in every other
 * sector, and not reversible. `undefined` for public subjects.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#PairwiseAlg
 */
export async function pairwiseSubject(
  env: MasterKeyBindings,
  client: Client,
  sub: string,
): Promise<string | undefined> {
  if (client.metadata.subject_type !== "pairwise") return undefined;
  return macText(env, "pairwise-mac", `${sectorIdentifier(client)}\n${sub}`);
}

/**
 * **The `sid` of a session for a client that knows its user as `subject`**: the session's own if `subject` is the user's `sub`, otherwise one for the
 * client's sector. A `sid` shared by two sectors would link the pairwise subjects of one user (OIDC Core §8.1). It is always the same, and only this
 * provider can open it ({@link sessionIdOf}): encrypted with a MAC of subject and session as iv.
 */
export async function sectorSessionId(
  env: MasterKeyBindings,
  session: { readonly sid: string; readonly sub: string },
  subject: string,
): Promise<string> {
  if (subject === session.sub) return session.sid;
  // No host contains a colon followed by this text, so no pairwise subject is derived from the same input.
  const mac = decodeBase64Url(await macText(env, "pairwise-mac", `sid:${subject}\n${session.sid}`));
  return sealText(env, "sid-seal", session.sid, { iv: mac!.slice(0, ivBytes) });
}

/** The session's own `sid`, for one that {@link sectorSessionId} has returned. */
export async function sessionIdOf(env: MasterKeyBindings, sid: string): Promise<string> {
  return (await openSealed(env, "sid-seal", sid)) ?? sid;
}

/**
 * The client's sector (§8.1): the host of its `sector_identifier_uri`, else the one host of its https redirect URIs, else the
 * client alone. Only https proves the owner of a host: any application may claim `com.evil.app://bank.example/`, and all
 * applications on a device share its loopback addresses. A client id is prefixed, because it may be spelled like a host.
 */
function sectorIdentifier({ clientId, metadata }: Client): string {
  const { sector_identifier_uri: sectorUri, redirect_uris: redirectUris } = metadata;
  if (sectorUri !== undefined) return new URL(sectorUri).hostname;
  const [host, ...others] = new Set(redirectUris.map(sectorHost));
  return host === undefined || others.length > 0 ? `client:${clientId}` : host;
}

const loopbackHost = /^(?:(?:.+\.)?localhost\.?|127\.[\d.]+|\[::1\])$/;

/** The host whose ownership a redirect URI proves; `undefined` if it proves none. */
export function sectorHost(redirectUri: string): string | undefined {
  if (!URL.canParse(redirectUri)) return undefined;
  const { protocol, hostname } = new URL(redirectUri);
  return protocol === "https:" && !loopbackHost.test(hostname) ? hostname : undefined;
}
