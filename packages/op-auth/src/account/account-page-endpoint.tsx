import { clientMark } from "@edge-op/pages/client-mark";
import { respondPage } from "@edge-op/pages/respond-page";
import type { Client } from "@edge-op/shared/clients/client";
import type { Settings } from "@edge-op/shared/config/settings";
import { listConsents } from "@edge-op/shared/users/consents";
import { findPassword, listPasskeys } from "@edge-op/shared/users/credentials";
import { listFactors } from "@edge-op/shared/users/factors";
import { listIdentities } from "@edge-op/shared/users/identities";
import { listAddresses } from "@edge-op/shared/users/user-addresses";
import { listUserSessions } from "@edge-op/shared/users/user-sessions";
import type { SignedInPerson } from "../browser/find-signed-in-person.ts";
import { formToken } from "../browser/form-token.ts";
import { allowedResources } from "../pages/allowances.ts";
import { frameOf } from "../pages/frame.ts";
import { passkeyRegistrationOptions } from "../steps/sign-in/passkey/register-passkey.ts";
import { upstreamKinds } from "../upstream/kinds.ts";
import { readNotice } from "./account-notices.ts";
import { AccountPage, type AccountView } from "./account-page.tsx";
import { mayAddPasskey } from "./factor-level.ts";
import { type AccountRequest, accountForms, asPerson } from "./require-person.ts";

/** A passkey ceremony starts when the page is rendered and must end within this time. */
const ceremonyMs = 10 * 60_000;

/** **`GET /account`**: address, password, passkeys, second factors, connected providers, applications with access, sessions. Cost: 2 object calls, 7 D1 calls. */
export function showAccount(at: AccountRequest): Promise<Response> {
  return asPerson(at, (person) => renderAccount(at, person));
}

/**
 * The URL at which a person starts a login at a client (OIDC Core §4): its own, with this provider as `iss`. A `target_link_uri` is one that the
 * client has registered in the URL's query. `login_hint` is omitted, because it would tell the client who is signed in here before they agree.
 */
function loginStart({ issuer }: Settings, { status, metadata }: Client): string | undefined {
  const { initiate_login_uri: uri } = metadata;
  if (uri === undefined || status !== "active") return undefined;
  const url = new URL(uri);
  url.searchParams.set("iss", issuer);
  return url.href;
}

async function renderAccount(at: AccountRequest, person: SignedInPerson): Promise<Response> {
  const { context, isolate, request } = at;
  const { user, session, sessionId } = person;
  const [password, addresses, passkeys, factors, consents, sessions, identities, upstreams] = await Promise.all([
    findPassword(context.env.DB, user.username),
    listAddresses(context.env.DB, user.sub),
    listPasskeys(context.env.DB, user.sub),
    listFactors(context.env.DB, user.sub),
    listConsents(context.env.DB, user.sub, context.arrivedAtMs),
    listUserSessions(context.env.DB, user.sub, context.arrivedAtMs),
    listIdentities(context.env.DB, user.sub),
    isolate.upstreams.list(context),
  ]);
  const clients = await Promise.all(consents.map(({ clientId }) => isolate.clients.find(context, clientId)));
  const resources = await isolate.resources.findAll(
    context,
    allowedResources(consents.flatMap((each) => each.allowed)),
  );
  const ceremony = mayAddPasskey(at, person, factors)
    ? await isolate.challenges.put(context, "passkey-ceremony", user.sub, context.arrivedAtMs + ceremonyMs)
    : undefined;
  const view: AccountView = {
    user,
    formToken: await formToken(context, accountForms, sessionId),
    hasPassword: password?.sub === user.sub && password.hash !== undefined,
    addresses,
    canChangeAddress: context.settings.mailProvider !== "off",
    passkeys,
    factors,
    identities,
    upstreams,
    registration:
      ceremony === undefined
        ? undefined
        : { ceremony, options: await passkeyRegistrationOptions(context, user, passkeys, ceremony) },
    consents: consents
      .map((consent, index) => {
        const client = clients[index];
        const name = client === undefined ? consent.clientId : clientMark(client).name;
        return { ...consent, name, start: client && loginStart(context.settings, client) };
      })
      .toSorted((left, right) => left.name.localeCompare(right.name, "en")),
    resources,
    sessions: sessions
      .map((each) => ({ ...each, isThis: each.sid === session.sid }))
      .toSorted((left, right) => Number(right.isThis) - Number(left.isThis)),
    notice: readNotice(new URL(request.url).searchParams.get("notice")),
  };
  const formTarget = upstreams.map(({ document }) => upstreamKinds[document.kind].issuerOf(document));
  return respondPage(<AccountPage frame={frameOf(context, request)} view={view} />, { formTarget });
}
