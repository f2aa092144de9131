import { formToken } from "@edge-op/pages/form-token";
import { displayName } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import { type Identity, listIdentities } from "@edge-op/shared/users/identities";
import { type PageRequest, personFrame } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";
import { basisOf, type SignedInPerson } from "../session/signed-in-person.ts";
import { expired } from "../step/sealed-flow.ts";
import { leaveForUpstream } from "../upstream/begin-upstream.ts";
import { findIdentity, labelOf } from "../upstream/identity-store.ts";
import { connectIdentity, disconnectIdentity, keepPendingLink, peekPendingLink } from "../upstream/link-identity.ts";
import { LinkPage } from "../upstream/link-step.tsx";
import type { Received } from "../upstream/upstream-callback.ts";
import { accountPages } from "./account-areas.ts";
import { accountWith } from "./account-notices.ts";
import { Item, List, RemoveLink, Section } from "./account-parts.tsx";
import { refuseBelowLevel } from "./factor-level.ts";
import { accountForms, asPerson, asPersonPosting, endOtherSessions } from "./require-person.ts";

const confirmPath = "/account/identities/confirm";

/** **Sends a person to a provider that they want to connect**, soon after a sign-in at the level of the account. Cost: 2 object calls, 1 D1 call. */
export function beginConnecting(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const refused = await refuseBelowLevel(at, person, accountPages.security);
    if (refused !== undefined) return refused;
    const upstream = await at.isolate.upstreams.find(at.context, form.require("upstream"));
    if (upstream === undefined) return accountWith(at.context, "identity-not-connected");
    const left = await leaveForUpstream(at, upstream, { purpose: { sub: person.user.sub }, isFresh: false });
    return left === undefined ? accountWith(at.context, "identity-not-connected") : redirect(left);
  });
}

/** **The page that shows both identities**, after the person came back. Cost: 2 object calls. */
export function showConnecting(at: PageRequest): Promise<Response> {
  return asPerson(at, async (person) => {
    const { context, isolate, request } = at;
    const id = new URL(request.url).searchParams.get("link") ?? "";
    const link = await peekPendingLink(context, isolate, id);
    if (link?.sub !== person.user.sub) return accountWith(at.context, "identity-not-connected");
    const fields = { link: id, form_token: await formToken(context, accountForms, person.sessionId) };
    const form = { action: confirmPath, fields };
    const frame = await personFrame(at, person.user);
    return respondPage(<LinkPage frame={frame} link={link} user={displayName(person.user)} form={form} />);
  });
}

/** **Connects an identity** that the person has confirmed. Cost: 2 object calls, 2 D1 calls; tell-person.ts. */
export function confirmConnecting(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    if (form.get("decision") !== "connect") return redirect(accountPages.security);
    const refused = await refuseBelowLevel(at, person, accountPages.security);
    if (refused !== undefined) return refused;
    const isConnected = await connectIdentity(at, person.user, basisOf(person), form.require("link"));
    return accountWith(at.context, isConnected ? "identity-connected" : "identity-not-connected");
  });
}

/** **Keeps an identity until the person who began has confirmed it**, who is still signed in in this browser. Cost: 2 object calls, 1 D1 call. */
export function askToConnect(at: PageRequest, sub: string, receive: () => Promise<Received>): Promise<Response> {
  return asPerson(at, async ({ user }) => {
    if (user.sub !== sub) throw expired("upstream-transaction-unknown");
    const received = await receive();
    if ("problem" in received) return accountWith(at.context, "identity-not-connected");
    const { upstream, person } = received;
    const { issuer, subject } = person;
    const { upstreamId } = upstream;
    const { name: provider } = upstream.document;
    if ((await findIdentity(at.context.env.DB, { upstreamId, issuer, subject })) !== undefined) {
      return accountWith(at.context, "identity-taken");
    }
    const pending = { upstreamId, issuer, subject, sub, label: labelOf(person), provider };
    const link = await keepPendingLink(at.context, at.isolate, pending);
    return redirect(`${confirmPath}?${new URLSearchParams({ link })}`);
  });
}

/** **Disconnects an identity**, but never the last way in. Other sessions end. Cost: 1 object call, 3 D1 calls; those of require-person.ts. */
export function removeIdentity(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const refused = await refuseBelowLevel(at, person, accountPages.security);
    if (refused !== undefined) return refused;
    const identity = await findOwnIdentity(at, person, form.require("identity"));
    if (identity === undefined) return redirect(accountPages.security);
    if (!(await disconnectIdentity(at, person, identity))) return accountWith(at.context, "last-identity");
    await endOtherSessions(at, person.session, "a factor was removed");
    return accountWith(at.context, "identity-disconnected");
  });
}

export async function findOwnIdentity(
  { context }: PageRequest,
  { user: { sub } }: SignedInPerson,
  id: string,
): Promise<Identity | undefined> {
  return (await listIdentities(context.env.DB, sub)).find((each) => each.id === id);
}

interface Props {
  readonly t: AuthTranslator;
  readonly date: (atMs: number) => string;
  readonly formToken: string;
  readonly created: (date: string) => string;
  readonly lastUsed: (date: string) => string;
  readonly identities: readonly Identity[];
  /** The active providers. */
  readonly upstreams: readonly Upstream[];
}

/** **Connected providers on the account page.** Absent if there is nothing to connect and nothing is connected. */
export function IdentitiesSection({ t, date, formToken, created, lastUsed, identities, upstreams }: Props) {
  if (identities.length + upstreams.length === 0) return null;
  const nameOf = (id: string) => upstreams.find(({ upstreamId }) => upstreamId === id)?.document.name ?? id;
  const others = upstreams.filter((each) => identities.every(({ upstreamId }) => upstreamId !== each.upstreamId));
  return (
    <Section
      id="identities"
      title={t("upstream.identities")}
      text={t(identities.length === 0 ? "upstream.noIdentities" : "upstream.identitiesText")}
    >
      <List>
        {identities.map(({ id, upstreamId, label, createdAtMs, lastUsedAtMs }) => {
          const details = [
            <bdi>{label}</bdi>,
            created(date(createdAtMs)),
            lastUsedAtMs === undefined ? undefined : lastUsed(date(lastUsedAtMs)),
          ];
          const name = nameOf(upstreamId);
          return (
            <li>
              <Item title={name} details={details} />
              <RemoveLink path="/account/identities/remove" name="identity" value={id} subject={`${name} ${label}`}>
                {t("upstream.disconnect")}
              </RemoveLink>
            </li>
          );
        })}
      </List>
      {others.length > 0 && (
        <form method="post" action="/account/identities" class="top row wrap">
          <input type="hidden" name="form_token" value={formToken} />
          {others.map(({ upstreamId, document: { name } }) => (
            <button type="submit" class="quiet slim" name="upstream" value={upstreamId} id={`connect-${upstreamId}`}>
              {t("upstream.connectWith", { provider: name })}
            </button>
          ))}
        </form>
      )}
    </Section>
  );
}
