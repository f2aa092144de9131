import { decodeJwt } from "@edge-op/protocol/jwt/decode-claims";
import type { GrantType } from "@edge-op/protocol/oauth/grant-types";
import type { AuditLogBindings } from "@edge-op/shared/audit/admin-event";
import type { IssuedToken } from "@edge-op/shared/audit/audit-log-rpc";
import type { RequestReports } from "@edge-op/shared/audit/request-reports";
import type { Client } from "@edge-op/shared/clients/client";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { rulesOfParties } from "@edge-op/shared/issuers/trusted-issuer";

interface IssuedResponse {
  readonly access_token: string;
  readonly scope?: string;
}

/** **Reports an issued token to the audit log.** The redemption of a code or a device code has its own event (op-state). */
export function reportIssued(
  context: RequestContext<AuditLogBindings>,
  isolate: { readonly reports: RequestReports },
  type: GrantType,
  client: Client,
  issued: IssuedResponse,
): void {
  if (type === "authorization_code" || type === "urn:ietf:params:oauth:grant-type:device_code") return;
  isolate.reports.noteIssued(context, () => describe(context, type, client, issued));
}

/** The subject is the one in the token. */
function describe(
  context: RequestContext<unknown>,
  grantType: GrantType,
  { clientId }: Client,
  { access_token: token, scope }: IssuedResponse,
): IssuedToken {
  const { sub, grant_client: grantClient, via } = decodeJwt(token)?.claims ?? {};
  const issuerRules = rulesOfParties([grantClient, ...(Array.isArray(via) ? via : [])]);
  return {
    atMs: context.arrivedAtMs,
    grantType,
    clientId,
    sub: typeof sub === "string" ? sub : undefined,
    scope,
    ...(issuerRules.length === 0 ? {} : { issuerRules }),
    address: context.network,
    requestId: context.requestId,
  };
}
