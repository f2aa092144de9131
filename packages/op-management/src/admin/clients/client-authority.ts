import { OAuthError } from "@edge-op/shared/oauth/errors";
import type { AccessToken } from "@edge-op/shared/tokens/access-token-content";
import { requireAuthority } from "../api/authority.ts";
import type { ClientDocument } from "./client-schema.ts";

/** **Who may create or change a client**: whoever carries every admin scope that it may get. */
export function requireAuthorityOver(admin: AccessToken, { scope, token_exchange }: ClientDocument): void {
  requireAuthority(admin, [...scope.split(" "), ...(token_exchange?.scopes ?? [])]);
}

/** The last operator's client must not lock everyone out by mistake. */
export function requireOther(admin: AccessToken, clientId: string): void {
  if (admin.clientId !== clientId) return;
  const description = "A client cannot disable or delete itself.";
  throw new OAuthError("conflict", "the client of the access token", { description });
}
