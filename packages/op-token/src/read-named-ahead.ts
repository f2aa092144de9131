import { namedClientId } from "@edge-op/shared/callers/authenticate-client";
import { type ReadAheadNames, readAhead } from "@edge-op/shared/callers/read-ahead";
import { openCode } from "@edge-op/shared/codes/sealed-code";
import type { ReadsBegun } from "@edge-op/shared/control/settle";
import type { AuthorizedGrant } from "@edge-op/shared/grants/grant";
import { readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { peekAccessToken } from "@edge-op/shared/tokens/access-token";
import type { TokenEnv } from "@edge-op/workers/env";
import { findGrantModule } from "./grants.ts";
import type { TokenIsolate } from "./isolate.ts";
import { namedValues } from "./issuing/requested-target.ts";

/** **Reads the records ahead that the text of a token request names**: its client and resources, and the user of its code or tokens. */
export function readNamedAhead(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  request: ReceivedRequest,
): ReadsBegun {
  return readAhead(context, isolate, request, () => {
    const form = readForm(request);
    const { credentials = [] } = findGrantModule(form.get("grant_type")) ?? {};
    const tokens = credentials.flatMap((name) => form.get(name) ?? []);
    const named = { clientIds: [namedClientId(request, form)], resources: namedValues(form) };
    return [named, ...tokens.map((token) => namedByToken(context, token))];
  });
}

async function namedByToken(context: RequestContext<TokenEnv>, token: string): Promise<ReadAheadNames> {
  const code = await openCode(context.env, token);
  if (code !== undefined) return namedByLogin(code.payload);
  const refreshToken = await readRefreshToken(context, token);
  if (refreshToken !== undefined) {
    const { sub, orgId, initial } = refreshToken;
    return namedByLogin({ sub, orgId, resources: initial?.family.resources ?? [] });
  }
  const named = await peekAccessToken(context, token);
  if (named === undefined) return {};
  // Without a requested target, that of the subject token is kept.
  const resources = named.audiences.filter((audience) => audience !== context.settings.issuer);
  return { resources, users: named.forUser ? [{ sub: named.sub, withRbac: true, orgId: named.orgId }] : [] };
}

function namedByLogin({ sub, resources, orgId }: Pick<AuthorizedGrant, "sub" | "resources" | "orgId">): ReadAheadNames {
  return { resources, users: [{ sub, withRbac: true, isVerified: true, orgId }] };
}
