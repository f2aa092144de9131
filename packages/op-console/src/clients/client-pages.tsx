import type { ClientResource, Paged, SecretResource } from "../api/resources.ts";
import { definePage } from "../serve/define-page.tsx";
import { Actions, Done, Facts, Head, List, Pager, RecordHead, Search, Section, searched } from "../serve/parts.tsx";
import type { ConsoleRoute } from "../serve/route.ts";
import { timeText } from "../serve/times.ts";
import { clientPath, clientsPath } from "./client-paths.ts";
import { type ClientKey, clientMessages } from "./messages.ts";

const conditions = (t: (key: ClientKey) => string) => ({
  client_name: t("client.byName"),
  client_id: t("client.byId"),
  status: t("client.byStatus"),
});

const list = definePage<ClientKey>({
  path: clientsPath,
  scope: "admin:clients",
  operations: ["listClients"],
  messages: clientMessages,
  async show({ api, t, query, path }) {
    const names = conditions(t);
    const found = await api.get<Paged & { readonly clients: readonly ClientResource[] }>("/clients", {
      ...searched(query, names),
      cursor: query.get("cursor") ?? undefined,
    });
    const children = (
      <>
        <Head title={t("clients.title")} />
        <Done t={t} query={query} />
        <Search t={t} path={path} query={query} conditions={names} />
        <List
          t={t}
          items={found.clients.map(({ client_id: id, client_name: name, status, redirect_uris: uris = [] }) => ({
            name: name ?? id,
            note: status === "disabled" ? t("client.disabled") : undefined,
            detail: [id, uris[0]],
            actions: [{ href: clientPath(id), text: t("list.open") }],
          }))}
        />
        <Pager t={t} path={path} query={query} next={found.next_cursor} />
        <Actions actions={[{ href: `${clientsPath}/new`, text: t("clients.create") }]} />
      </>
    );
    return { title: t("clients.title"), children };
  },
});

const one = definePage<ClientKey>({
  path: `${clientsPath}/:id`,
  scope: "admin:clients",
  operations: ["readClient", "listClientSecrets"],
  messages: clientMessages,
  async show({ api, t, query, parameter }) {
    const id = parameter("id");
    const path = `/clients/${encodeURIComponent(id)}`;
    const [client, { secrets }] = await Promise.all([
      api.get<ClientResource>(path),
      api.get<{ readonly secrets: readonly SecretResource[] }>(`${path}/secrets`),
    ]);
    const name = client.client_name ?? id;
    const isActive = client.status === "active";
    const usesSecret = client.token_endpoint_auth_method?.startsWith("client_secret") === true;
    const children = (
      <>
        <RecordHead kind={t("client.kind")} name={name} />
        <Done t={t} query={query} />
        <Facts
          t={t}
          facts={[
            [t("client.id"), id],
            [t("client.status"), client.status],
            [t("client.authentication"), client.token_endpoint_auth_method],
            [t("client.grants"), client.grant_types],
            [t("client.redirects"), client.redirect_uris],
            [t("client.scope"), client.scope],
            [t("client.audiences"), client.audiences],
            [t("client.skipConsent"), client.skip_consent ?? false],
            [t("client.requireMfa"), client.require_mfa ?? false],
            [t("client.created"), timeText(client.client_id_issued_at)],
            [t("client.updated"), timeText(client.updated_at)],
          ]}
        />
        <Actions
          actions={[
            { href: clientPath(id, "/edit"), text: t("client.edit") },
            { href: clientPath(id, "/test"), text: t("client.test") },
            isActive
              ? { href: clientPath(id, "/disable"), text: t("client.disable"), isDangerous: true }
              : { href: clientPath(id, "/enable"), text: t("client.enable") },
            { href: clientPath(id, "/delete"), text: t("client.delete"), isDangerous: true },
          ]}
        />
        {usesSecret && (
          <Section title={t("client.secrets")}>
            <List
              t={t}
              items={secrets.map(({ secret_id: secretId, created_at: at, client_secret_expires_at: endsAt }) => ({
                name: secretId,
                detail: [
                  t("client.secretCreated", { time: timeText(at) ?? "" }),
                  endsAt === 0 ? undefined : t("client.secretEnds", { time: timeText(endsAt) ?? "" }),
                ],
                actions: [
                  {
                    href: clientPath(id, `/secrets/${encodeURIComponent(secretId)}/end`),
                    text: t("client.endSecret"),
                    isDangerous: true,
                  },
                ],
              }))}
            />
            <Actions actions={[{ href: clientPath(id, "/secrets/new"), text: t("client.newSecret") }]} />
          </Section>
        )}
        <details>
          <summary>{t("client.all")}</summary>
          <pre class="secret">{JSON.stringify(client, null, 2)}</pre>
        </details>
      </>
    );
    return { title: `${t("client.kind")} ${name}`, children };
  },
});

export const clientPages: readonly ConsoleRoute[] = [list, one];
