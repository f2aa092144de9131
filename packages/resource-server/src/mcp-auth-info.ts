import type { ResourceAuth } from "./protected-resource.ts";

/** **The `authInfo` of the MCP SDK's `createMcpHandler`**: tools read it, and its scope challenges name the same metadata. */
export interface McpAuthInfo {
  token: string;
  clientId: string;
  scopes: string[];
  expiresAt?: number;
  resource: URL;
  resourceMetadataUrl: string;
  extra: { userId: string | undefined };
}

export function toMcpAuthInfo(auth: ResourceAuth): McpAuthInfo {
  const { token, clientId = "", scope, expiresAt, audience, resourceMetadataUrl, userId } = auth;
  return {
    token,
    clientId,
    scopes: [...scope],
    ...(expiresAt === undefined ? {} : { expiresAt }),
    resource: new URL(audience),
    resourceMetadataUrl,
    extra: { userId },
  };
}
