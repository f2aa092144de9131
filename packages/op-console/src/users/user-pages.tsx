import type { Paged, UserResource } from "../api/resources.ts";
import { definePage } from "../serve/define-page.tsx";
import {
  type Action,
  Actions,
  Done,
  Facts,
  Head,
  List,
  Pager,
  RecordHead,
  Search,
  Section,
  searched,
} from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";
import { timeText } from "../serve/times.ts";
import { type UserKey, userMessages } from "./messages.ts";
import { userPath, usersPath } from "./user-paths.ts";

const list = definePage<UserKey>({
  path: usersPath,
  scope: "admin:users",
  operations: ["listUsers"],
  messages: userMessages,
  async show({ api, t, query, path }) {
    const names = {
      username: t("user.byUsername"),
      email: t("user.byEmail"),
      name: t("user.byName"),
      sub: t("user.bySub"),
      status: t("user.byStatus"),
    };
    const found = await api.get<Paged & { readonly users: readonly UserResource[] }>("/users", {
      ...searched(query, names),
      cursor: query.get("cursor") ?? undefined,
    });
    const children = (
      <>
        <Head title={t("users.title")} />
        <Search t={t} path={path} query={query} conditions={names} />
        <List
          t={t}
          items={found.users.map((user) => ({
            name: user.username,
            note: noteOf(t, user),
            detail: [[user.claims.name, user.claims.email].filter(Boolean).join(" · "), user.sub],
            actions: [{ href: userPath(user.sub), text: t("list.open") }],
          }))}
        />
        <Pager t={t} path={path} query={query} next={found.next_cursor} />
      </>
    );
    return { title: t("users.title"), children };
  },
});

function noteOf(t: PageCall<UserKey>["t"], { status }: UserResource): string | undefined {
  if (status === "suspended") return t("user.suspended");
  return status === "leaving" ? t("user.leaving") : undefined;
}

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

const one = definePage<UserKey>({
  path: `${usersPath}/:id`,
  scope: "admin:users",
  operations: ["readUser", "listSessions", "listFactors", "listConsents", "listGrants"],
  messages: userMessages,
  async show({ api, t, query, path, parameter }) {
    const sub = parameter("id");
    const own = `/users/${encodeURIComponent(sub)}`;
    // A page of each list; each has its own place.
    const cursorOf = (name: string) => ({ limit: "20", cursor: query.get(name) ?? undefined });
    const [user, sessions, { factors }, consents, grants] = await Promise.all([
      api.get<UserResource>(own),
      api.get<Paged & { readonly sessions: readonly Session[] }>(`${own}/sessions`, cursorOf("sessions")),
      api.get<{ readonly factors: readonly Factor[] }>(`${own}/factors`),
      api.get<Paged & { readonly consents: readonly Consent[] }>(`${own}/consents`, cursorOf("consents")),
      api.get<Paged & { readonly grants: readonly Grant[] }>(`${own}/grants`, cursorOf("grants")),
    ]);
    const end = (below: string, text: UserKey): Action => ({
      href: userPath(sub, below),
      text: t(text),
      isDangerous: true,
    });
    const pager = (name: string, next: string | undefined) => <Pager {...{ t, path, query, next, name }} />;
    const children = (
      <>
        <RecordHead kind={t("user.kind")} name={user.username} />
        <Done t={t} query={query} />
        <Facts
          t={t}
          facts={[
            [t("user.sub"), user.sub],
            [t("user.status"), user.status],
            [t("user.name"), user.claims.name],
            [t("user.email"), user.claims.email],
            [t("user.roles"), user.roles],
            [t("user.groups"), user.groups],
            [t("user.password"), user.has_password],
            [t("user.created"), timeText(user.created_at)],
          ]}
        />
        <Actions
          actions={[
            { href: userPath(sub, "/edit"), text: t("user.edit") },
            user.status === "suspended"
              ? { href: userPath(sub, "/release"), text: t("user.release") }
              : end("/suspend", "user.suspend"),
          ]}
        />
        <Section title={t("user.sessions")}>
          <List
            t={t}
            items={sessions.sessions.map(({ sid, device, city, country, signed_in_at: at, ends_at: until }) => ({
              name: device,
              detail: [
                [city, country].filter(Boolean).join(", "),
                t("user.sessionSince", { time: timeText(at) ?? "" }),
                t("user.sessionUntil", { time: timeText(until) ?? "" }),
              ],
              actions: [end(`/sessions/${encodeURIComponent(sid)}/end`, "user.endSession")],
            }))}
          />
          {pager("sessions", sessions.next_cursor)}
          {sessions.sessions.length > 0 && <Actions actions={[end("/end-sessions", "user.endSessions")]} />}
        </Section>
        <Section title={t("user.factors")}>
          <List
            t={t}
            items={factors.map(({ factor_id: id, kind, name, remaining, created_at: at, last_used_at: used }) => ({
              name: name ?? kind,
              detail: [
                remaining === undefined ? undefined : t("user.factorCodes", { count: remaining }),
                t("user.factorCreated", { time: timeText(at) ?? "" }),
                used === undefined ? undefined : t("user.factorUsed", { time: timeText(used) ?? "" }),
              ],
              actions: [end(`/factors/${encodeURIComponent(id)}/end`, "user.removeFactor")],
            }))}
          />
        </Section>
        <Section title={t("user.consents")}>
          <List
            t={t}
            items={consents.consents.map(({ client_id: clientId, allowed }) => ({
              name: clientId,
              detail: [allowed.join(" ")],
              actions: [end(`/consents/${encodeURIComponent(clientId)}/end`, "user.endConsent")],
            }))}
          />
          {pager("consents", consents.next_cursor)}
          {consents.consents.length > 0 && <Actions actions={[end("/end-consents", "user.endConsents")]} />}
        </Section>
        <Section title={t("user.grants")}>
          <List
            t={t}
            items={grants.grants.map(({ grant_id: id, client_id: clientId, ends_at: until }) => ({
              name: clientId,
              detail: [id, t("user.grantEnds", { time: timeText(until) ?? "" })],
              actions: [end(`/grants/${encodeURIComponent(id)}/end`, "user.endGrant")],
            }))}
          />
          {pager("grants", grants.next_cursor)}
          {grants.grants.length > 0 && <Actions actions={[end("/end-grants", "user.endGrants")]} />}
        </Section>
      </>
    );
    return { title: `${t("user.kind")} ${user.username}`, children };
  },
});

export const userPages: readonly ConsoleRoute[] = [list, one];
