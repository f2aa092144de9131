import { clientMark } from "@edge-op/pages/client-mark";
import type { Client } from "@edge-op/shared/clients/client";
import type { Settings } from "@edge-op/shared/config/settings";
import { type Consent, listConsents } from "@edge-op/shared/users/consents";
import { accessOf } from "../consent/requested-access.ts";
import { loginStart } from "../pages/describe-client.tsx";
import type { PageRequest } from "../pages/frame.ts";

/** **An application with access to an account.** */
export interface Application {
  /** Several for a program that has registered itself several times; the one that was used last comes first. */
  readonly clientIds: readonly string[];
  readonly name: string;
  /** The host that is responsible for it: that of its metadata document; none if the client registered itself. */
  readonly source: { readonly host: string | undefined } | undefined;
  readonly allowed: readonly string[];
  /** Absent for an application that has only its administrator's consent. */
  readonly sinceMs: number | undefined;
  /** Where a login at the application begins, if it can begin here. */
  readonly start: string | undefined;
}

/** The applications of a person, by name. Cost: 1 D1 call, and the clients that are not in memory. */
export async function listApplications({ context, isolate }: PageRequest, sub: string): Promise<Application[]> {
  const consents = await listConsents(context.env.DB, sub, context.arrivedAtMs);
  const clients = await Promise.all(consents.map(({ clientId }) => isolate.clients.find(context, clientId)));
  return mergeConsents(
    context.settings,
    consents.map((consent, index) => ({ consent, client: clients[index] })),
  );
}

/** The application that a client belongs to; `undefined` if it has no access. Cost: that of {@link listApplications}. */
export async function findApplication(
  at: PageRequest,
  sub: string,
  clientId: string,
): Promise<Application | undefined> {
  return (await listApplications(at, sub)).find(({ clientIds }) => clientIds.includes(clientId));
}

interface GivenConsent {
  readonly consent: Consent;
  readonly client: Client | undefined;
}

/** The newest first. */
function mergeConsents(settings: Settings, given: readonly GivenConsent[]): Application[] {
  const groups = Map.groupBy(given, programOf);
  const applications = [...groups.values()].map((group): Application => {
    const [{ consent, client }] = group as [GivenConsent, ...GivenConsent[]];
    const days = group.flatMap((each) => each.consent.givenAtMs ?? []);
    return {
      clientIds: group.map((each) => each.consent.clientId),
      name: client === undefined ? consent.clientId : clientMark(client).name,
      source: client?.origin && { host: client.origin === "document" ? new URL(client.clientId).hostname : undefined },
      allowed: accessOf(group.flatMap((each) => each.consent.allowed)),
      sinceMs: days.length === 0 ? undefined : Math.min(...days),
      start: client && loginStart(settings, client),
    };
  });
  return applications.toSorted((left, right) => left.name.localeCompare(right.name, "en"));
}

/** A program that registers itself is a new client each time. Nothing else of it can be told apart, so no other kind of client is merged. */
function programOf({ consent: { clientId }, client }: GivenConsent): string {
  if (client?.origin !== "registration") return clientId;
  // A native application may listen on another port each time (RFC 8252 §7.3).
  const targets = client.metadata.redirect_uris.map((uri) => uri.replace(/^(http:\/\/[^/]+?):\d+/, "$1"));
  return JSON.stringify([client.metadata.client_name, targets.toSorted()]);
}
