import type { Paged } from "../api/resources.ts";
import { recordPath } from "../records/record.ts";
import type { ConsoleKey } from "../serve/messages.ts";
import { type Action, Actions, type Item, List, Pager, Section, timeText } from "../serve/parts.tsx";
import type { PageCall } from "../serve/route.ts";

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

/** **What a user has**: sessions, factors, connections, consents and grants, each of which can be ended. */
export async function userSections({ api, t, query, path, parameter }: PageCall) {
  const sub = parameter("id");
  // A page of each list; each has its own place.
  const read = <Name extends string, Shown>(name: Name) =>
    api.get<Paged & Readonly<Record<Name, readonly Shown[]>>>(recordPath("/users", sub, `/${name}`), {
      limit: "20",
      cursor: query.get(name) ?? undefined,
    });
  const readAll = <Name extends string, Shown>(name: Name) =>
    api.get<Readonly<Record<Name, readonly Shown[]>>>(recordPath("/users", sub, `/${name}`));
  const [sessions, { factors }, { identities }, consents, grants] = await Promise.all([
    read<"sessions", Session>("sessions"),
    readAll<"factors", Factor>("factors"),
    readAll<"identities", Identity>("identities"),
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
      {section(
        "user.sessions",
        sessions.sessions.map(({ sid, device, city, country, signed_in_at: at, ends_at: until }) => ({
          name: device,
          detail: [
            [city, country].filter(Boolean).join(", "),
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
