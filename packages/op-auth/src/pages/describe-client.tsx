import { clientMark } from "@edge-op/pages/client-mark";
import type { Client } from "@edge-op/shared/clients/client";
import { ownLogoUrl } from "@edge-op/shared/clients/client-logos";
import type { Settings } from "@edge-op/shared/config/settings";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthIsolate } from "../runtime/isolate.ts";
import type { AuthTranslator } from "./messages.ts";

/**
 * **A client as the pages of an authorization show it**: its mark, including a copy of its logo if no administrator has registered it. Cost: 0; 1
 * fetch of the client's server if it has such a logo and no copy is held.
 */
export async function describeClient(context: RequestContext<unknown>, isolate: AuthIsolate, client: Client) {
  const mark = clientMark(client);
  const url = ownLogoUrl(client);
  if (url === undefined) return mark;
  const found = await isolate.logos.find(context, url);
  return { ...mark, logoUri: found.kind === "document" ? found.value.dataUrl : undefined };
}

/**
 * **The URL at which a person starts a login at a client (OIDC Core §4)**: its own, with this provider as `iss`. A `target_link_uri` is one that the
 * client has registered in the URL's query. `login_hint` is omitted, because it would tell the client who is signed in here before they agree.
 */
export function loginStart({ issuer }: Settings, { status, metadata }: Client): string | undefined {
  const { initiate_login_uri: uri } = metadata;
  if (uri === undefined || status !== "active") return undefined;
  const url = new URL(uri);
  url.searchParams.set("iss", issuer);
  return url.href;
}

/** The pages of a client that people may read before they sign in or decide. */
export interface ClientPages {
  readonly policyUri: string | undefined;
  readonly tosUri: string | undefined;
}

/** **Links to a client's privacy policy and terms of service.** @see https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata */
export function ClientLinks({ t, client }: { readonly t: AuthTranslator; readonly client: ClientPages }) {
  if (client.policyUri === undefined && client.tosUri === undefined) return undefined;
  return (
    <nav class="links">
      {client.policyUri && <a href={client.policyUri}>{t("consent.policy")}</a>}
      {client.tosUri && <a href={client.tosUri}>{t("consent.terms")}</a>}
    </nav>
  );
}
