import type { ShownEvent } from "@edge-op/shared/audit/list-events";
import type { Paged } from "../api/resources.ts";
import { auditScope } from "../audit/audit-pages.tsx";
import { recordPath } from "../records/record.ts";
import type { ConsoleKey } from "../serve/messages.ts";
import { type Action, Actions, Facts, type Item, List, Pager, Section, timeText } from "../serve/parts.tsx";
import { mayUse, type PageCall } from "../serve/route.ts";

interface Session {
  readonly sid: string;
  readonly device: string;
  readonly city?: string;
  readonly country?: string;
  readonly signed_in_at: number;
  readonly ends_at: number;
}

interface Factor {
  readonly factor_id: string;
  readonly kind: string;
  readonly name?: string;
  readonly remaining?: number;
  readonly created_at: number;
  readonly last_used_at?: number;
}

interface Consent {
  readonly client_id: string;
  readonly allowed: readonly string[];
}

interface Grant {
  readonly grant_id: string;
  readonly client_id: string;
  readonly ends_at: number;
}

interface Identity {
  readonly identity_id: string;
  readonly upstream_id: string;
  readonly label: string;
  readonly created_at: number;
}

interface Membership {
  readonly org_id: string;
  readonly organization: string;
  readonly status: "active" | "suspended";
  readonly roles: readonly string[];
}

const placeOf = ({ city, country }: Pick<Session, "city" | "country">) => [city, country].filter(Boolean).join(", ");

/** The last sign-in, of the audit log: one event of one person and type. Its browser and place are those of its session, while that is listed. */
function LastSignIn({ t, event, sessions }: Pick<PageCall, "t"> & LastSignInProps) {
  if (event === undefined) return <p class="muted">{t("user.lastSignInNone")}</p>;
  const { time, address, client_id: clientId, detail } = event;
  const session = sessions.find(({ sid }) => sid === detail["sid"]);
  const amr = Array.isArray(detail["amr"]) ? detail["amr"].join(", ") : "";
  return (
    <Facts
      t={t}
      facts={[
        [t("event.time"), timeText(Math.floor(Date.parse(time) / 1000))],
        [t("user.browser"), session?.device ?? t("user.browserUnknown")],
        [t("user.place"), [session && placeOf(session), address].filter(Boolean).join(" · ")],
        [t("event.amr"), amr],
        [t("audit.byClient"), clientId],
      ]}
    />
  );
}

interface LastSignInProps {
  readonly event: ShownEvent | undefined;
  readonly sessions: readonly Session[];
}

/** **What a user has**: the last sign-in, sessions, factors, connections, memberships, consents and grants, each of which can be ended. */
export async function userSections({ api, t, query, path, parameter, session }: PageCall) {
  const sub = parameter("id");
  // A page of each list; each has its own place.
  const read = <Name extends string, Shown>(name: Name) =>
    api.get<Paged & Readonly<Record<Name, readonly Shown[]>>>(recordPath("/users", sub, `/${name}`), {
      limit: "20",
      cursor: query.get(name) ?? undefined,
    });
  const readAll = <Name extends string, Shown>(name: Name) =>
    api.get<Readonly<Record<Name, readonly Shown[]>>>(recordPath("/users", sub, `/${name}`));
  const hasLog = mayUse(session, auditScope);
  const signIns = { sub, type: "sign-in.succeeded", limit: "1" };
  const [signedIn, sessions, { factors }, { identities }, memberships, consents, grants] = await Promise.all([
    hasLog ? api.get<{ readonly events: readonly ShownEvent[] }>("/audit", signIns) : undefined,
    read<"sessions", Session>("sessions"),
    readAll<"factors", Factor>("factors"),
    readAll<"identities", Identity>("identities"),
    read<"memberships", Membership>("memberships"),
    read<"consents", Consent>("consents"),
    read<"grants", Grant>("grants"),
  ]);
  const end = (below: string, text: ConsoleKey): Action => ({
    href: recordPath("/console/users", sub, below),
    text: t(text),
    isDangerous: true,
  });
  const endOne = (kind: string, id: string, text: ConsoleKey) => [end(`/${kind}/${encodeURIComponent(id)}/end`, text)];
  const section = (title: ConsoleKey, items: readonly Item[], name = "", next?: string, all?: Action) => (
    <Section title={t(title)}>
      <List t={t} items={items} />
      {name !== "" && <Pager {...{ t, path, query, next, name }} />}
      {all && items.length > 0 && <Actions actions={[all]} />}
    </Section>
  );
  const added = (at: number) => t("user.factorCreated", { time: timeText(at) ?? "" });
  return (
    <>
      {signedIn && (
        <Section title={t("user.lastSignIn")}>
          <LastSignIn t={t} event={signedIn.events[0]} sessions={sessions.sessions} />
        </Section>
      )}
      {section(
        "user.sessions",
        sessions.sessions.map(({ sid, device, signed_in_at: at, ends_at: until, ...place }) => ({
          name: device,
          detail: [
            placeOf(place),
            t("user.sessionSince", { time: timeText(at) ?? "" }),
            t("user.sessionUntil", { time: timeText(until) ?? "" }),
          ],
          actions: endOne("sessions", sid, "user.endSession"),
        })),
        "sessions",
        sessions.next_cursor,
        end("/end-sessions", "user.endSessions"),
      )}
      {section(
        "user.factors",
        factors.map(({ factor_id: id, kind, name, remaining, created_at: at, last_used_at: used }) => ({
          name: name ?? kind,
          detail: [
            remaining === undefined ? undefined : t("user.factorCodes", { count: remaining }),
            added(at),
            used === undefined ? undefined : t("user.factorUsed", { time: timeText(used) ?? "" }),
          ],
          actions: endOne("factors", id, "user.removeFactor"),
        })),
      )}
      {identities.length > 0 &&
        section(
          "user.identities",
          identities.map(({ identity_id: id, upstream_id: upstream, label, created_at: at }) => ({
            name: upstream,
            detail: [label, added(at)],
            actions: endOne("identities", id, "user.removeIdentity"),
          })),
        )}
      {(memberships.memberships.length > 0 || query.has("memberships")) &&
        section(
          "organizations.title",
          memberships.memberships.map(({ org_id: orgId, organization, status, roles }) => ({
            name: organization,
            note: status === "suspended" ? t("record.status.suspended") : undefined,
            detail: [orgId, roles.join(" ")],
            actions: [
              {
                href: recordPath("/console/organizations", orgId, recordPath("/members", sub, "/edit")),
                text: t("record.edit"),
              },
              {
                href: recordPath("/console/organizations", orgId, recordPath("/members", sub, "/end")),
                text: t("member.remove"),
                isDangerous: true,
              },
            ],
          })),
          "memberships",
          memberships.next_cursor,
        )}
      {section(
        "user.consents",
        consents.consents.map(({ client_id: clientId, allowed }) => ({
          name: clientId,
          detail: [allowed.join(" ")],
          actions: endOne("consents", clientId, "user.endConsent"),
        })),
        "consents",
        consents.next_cursor,
        end("/end-consents", "user.endConsents"),
      )}
      {section(
        "user.grants",
        grants.grants.map(({ grant_id: id, client_id: clientId, ends_at: until }) => ({
          name: clientId,
          detail: [id, t("user.grantEnds", { time: timeText(until) ?? "" })],
          actions: endOne("grants", id, "user.endGrant"),
        })),
        "grants",
        grants.next_cursor,
        end("/end-grants", "user.endGrants"),
      )}
    </>
  );
}
