import { formToken } from "@edge-op/pages/form-token";
import { displayName } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { type Identity, listIdentities } from "@edge-op/shared/users/identities";
import { frameOf, type PageRequest } from "../pages/frame.ts";
import { basisOf, type SignedInPerson } from "../session/signed-in-person.ts";
import { leaveForUpstream } from "../upstream/begin-upstream.ts";
import { connectIdentity, disconnectIdentity } from "../upstream/link-identity.ts";
import { LinkPage } from "../upstream/link-page.tsx";
import { peekPendingLink } from "../upstream/pending-link.ts";
import { accountWith } from "./account-notices.ts";
import { endOtherSessions } from "./end-other-sessions.ts";
import { refuseBelowLevel } from "./factor-level.ts";
import { accountForms, asPerson, asPersonPosting } from "./require-person.ts";

const confirmPath = "/account/identities/confirm";

/** **Sends a person to a provider that they want to connect**, soon after a sign-in at the level of the account. Cost: 2 object calls, 1 D1 call. */
export function beginConnecting(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const refused = await refuseBelowLevel(at, person, "/account");
    if (refused !== undefined) return refused;
    const upstream = await at.isolate.upstreams.find(at.context, form.require("upstream"));
    if (upstream === undefined) return redirect(accountWith("identity-not-connected"));
    const left = await leaveForUpstream(at, upstream, { purpose: { sub: person.user.sub }, isFresh: false });
    return redirect(left ?? accountWith("identity-not-connected"));
  });
}

/** **The page that shows both identities**, after the person came back. Cost: 2 object calls. */
export function showConnecting(at: PageRequest): Promise<Response> {
  return asPerson(at, async (person) => {
    const { context, isolate, request } = at;
    const id = new URL(request.url).searchParams.get("link") ?? "";
    const link = await peekPendingLink(context, isolate, id);
    if (link?.sub !== person.user.sub) return redirect(accountWith("identity-not-connected"));
    const fields = { link: id, form_token: await formToken(context, accountForms, person.sessionId) };
    const form = { action: confirmPath, fields };
    const frame = frameOf(context, request);
    return respondPage(<LinkPage frame={frame} link={link} user={displayName(person.user)} form={form} />);
  });
}

/** **Connects an identity** that the person has confirmed. Cost: 2 object calls, 2 D1 calls; tell-person.ts. */
export function confirmConnecting(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    if (form.get("decision") !== "connect") return redirect("/account");
    const refused = await refuseBelowLevel(at, person, "/account");
    if (refused !== undefined) return refused;
    const isConnected = await connectIdentity(at, person.user, basisOf(person), form.require("link"));
    return redirect(accountWith(isConnected ? "identity-connected" : "identity-not-connected"));
  });
}

/** The page at which a person confirms. */
export function confirmConnectingAt(link: string): string {
  return `${confirmPath}?${new URLSearchParams({ link })}`;
}

/** **Disconnects an identity**, but never the last way in. Other sessions end. Cost: 1 object call, 3 D1 calls; those of end-other-sessions.ts. */
export function removeIdentity(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const refused = await refuseBelowLevel(at, person, "/account");
    if (refused !== undefined) return refused;
    const identity = await findOwnIdentity(at, person, form.require("identity"));
    if (identity === undefined) return redirect("/account");
    if (!(await disconnectIdentity(at, person, identity))) return redirect(accountWith("last-identity"));
    await endOtherSessions(at, person.session, "a factor was removed");
    return redirect(accountWith("identity-disconnected"));
  });
}

export async function findOwnIdentity(
  { context }: PageRequest,
  { user: { sub } }: SignedInPerson,
  id: string,
): Promise<Identity | undefined> {
  return (await listIdentities(context.env.DB, sub)).find((each) => each.id === id);
}
