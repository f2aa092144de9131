import { OAuthError, shownValue } from "@edge-op/protocol/oauth/errors";
import type { Client } from "@edge-op/shared/clients/client";
import type { Form } from "@edge-op/shared/http/read-form";
import type { GrantModule } from "./grant-module.ts";
import { authorizationCode } from "./grants/authorization-code.ts";
import { clientCredentials } from "./grants/client-credentials.ts";
import { deviceCode } from "./grants/device-code.ts";
import { jwtBearer } from "./grants/jwt-bearer.ts";
import { refreshToken } from "./grants/refresh-token.ts";
import { tokenExchange } from "./grants/token-exchange.ts";

export const grantModules: readonly GrantModule[] = [
  authorizationCode,
  refreshToken,
  clientCredentials,
  deviceCode,
  tokenExchange,
  jwtBearer,
];

const modulesByType: ReadonlyMap<string, GrantModule> = new Map(grantModules.map((module) => [module.type, module]));

/** The module of a `grant_type`. */
export function findGrantModule(grantType: string | undefined): GrantModule | undefined {
  return grantType === undefined ? undefined : modulesByType.get(grantType);
}

/** The module of the requested `grant_type`, for which the client must be registered. */
export function requireGrantModule(client: Client, form: Form): GrantModule {
  const grantType = form.require("grant_type");
  const module = findGrantModule(grantType);
  if (module === undefined) {
    throw new OAuthError("unsupported_grant_type", "grant-type-unknown", {
      description: `The grant type ${shownValue(grantType)} is not supported.`,
    });
  }
  if (!client.metadata.grant_types.includes(module.type)) {
    throw new OAuthError("unauthorized_client", "grant-type-not-registered", {
      description: `The client is not registered for the grant type ${grantType}.`,
    });
  }
  return module;
}
