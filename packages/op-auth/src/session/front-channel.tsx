import type { Script } from "@edge-op/pages/assets";
import { Layout } from "@edge-op/pages/layout";
import type { OAuthError } from "@edge-op/protocol/oauth/errors";
import { sectorSessionId } from "@edge-op/shared/clients/pairwise-subject";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { SessionContents } from "@edge-op/shared/sessions/session-rpc";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import { LogoutFault } from "./logout-page.tsx";

/** Maximum number of frames on a page. Further clients of a session are not notified through the browser. */
export const framesAtMost = 50;

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

export interface FrontChannelView {
  readonly urls: readonly string[];
  /** Where the person continues after the logout. */
  readonly returnTo: string | undefined;
  readonly fault: OAuthError | undefined;
  /** Another account of this browser is still signed in. */
  readonly hasOthers: boolean;
}

/** The page has loaded when its frames have; a client that does not respond does not delay the person. */
const body = `
"use strict";
const next = document.getElementById("continue");
const leave = () => location.replace(next.href);
if (next) {
  addEventListener("load", leave);
  setTimeout(leave, 3000);
}
`.trim();

export const frontChannelScript: Script = { name: "front-channel-logout.js", body };

/**
 * **The page that signs a person out of the applications**, in invisible frames. They may set and delete their own cookies, and can neither navigate
 * this page nor read it. Without a script, the person continues by a link.
 *
 * @see https://openid.net/specs/openid-connect-frontchannel-1_0.html#OPLogout
 */
export function FrontChannelPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: FrontChannelView }) {
  const { t } = frame;
  const { urls, returnTo, fault, hasOthers } = view;
  return (
    <Layout {...frame} location={undefined} title={t("loggedOut.title")} scripts={[frontChannelScript]}>
      <div class="head" role="status">
        <h1>{t("loggedOut.title")}</h1>
        <p class="muted">{returnTo === undefined ? t("loggedOut.applications") : t("loggedOut.returning")}</p>
        {hasOthers && <p class="muted">{t("loggedOut.others")}</p>}
      </div>
      <LogoutFault t={t} fault={fault} />
      <div class="actions">
        {returnTo === undefined ? (
          <a class="button quiet" href="/account">
            {t(hasOthers ? "link.account" : "loggedOut.again")}
          </a>
        ) : (
          <a class="button quiet" href={returnTo} id="continue">
            {t("redirect.submit")}
          </a>
        )}
      </div>
      {urls.map((url) => (
        <iframe
          src={url}
          title={t("loggedOut.title")}
          sandbox="allow-scripts allow-same-origin"
          referrerpolicy="no-referrer"
          hidden
        />
      ))}
    </Layout>
  );
}
