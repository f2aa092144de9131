import { sectorSessionId } from "@edge-op/shared/clients/pairwise-subject";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { SessionContents } from "@edge-op/shared/sessions/session-rpc";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";

/** Maximum number of frames on a page. Further clients of a session are not notified through the browser. */
const framesAtMost = 50;

/**
 * **The URLs that a logout loads in the browser**: the `frontchannel_logout_uri` of each active client of the session, with `iss` and the `sid` of
 * the client's sector. Cost warm: 0.
 *
 * @see https://openid.net/specs/openid-connect-frontchannel-1_0.html#RPLogout
 */
export async function frontChannelUrls(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  { session, clients }: SessionContents,
): Promise<readonly string[]> {
  const urls = await Promise.all(
    clients.map(async ({ clientId, subject }) => {
      const client = await isolate.clients.find(context, clientId);
      const uri = client?.status === "active" ? client.metadata.frontchannel_logout_uri : undefined;
      if (uri === undefined) return [];
      const sid = await sectorSessionId(context.env, session, subject);
      const query = new URLSearchParams({ iss: context.settings.issuer, sid });
      return [`${uri}${uri.includes("?") ? "&" : "?"}${query}`];
    }),
  );
  return urls.flat().slice(0, framesAtMost);
}
