import type { ClientResource, SecretResource } from "../api/resources.ts";
import { apiPath, type RecordSpec, recordChange, recordPath } from "../records/record.ts";
import type { ConsoleKey } from "../serve/messages.ts";
import { Actions, Facts, Head, List, Section, timeText } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";

const clientsPath = "/console/clients";

export function newSecretPath(clientId: string): string {
  return recordPath(clientsPath, clientId, "/secrets/new");
}

/** The secrets of a client, on its page. */
export async function secretSection({ api, t, parameter }: PageCall) {
  const id = parameter("id");
  const own = recordPath("/clients", id, "/secrets");
  const { secrets } = await api.get<{ readonly secrets: readonly SecretResource[] }>(own);
  if (secrets.length === 0) return null;
  return (
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
              href: recordPath(clientsPath, id, `/secrets/${encodeURIComponent(secretId)}/end`),
              text: t("client.endSecret"),
              isDangerous: true,
            },
          ],
        }))}
      />
    </Section>
  );
}

/** The one page that shows a secret. */
export function secretView({ t }: PageCall, title: ConsoleKey, clientId: string, secret: unknown) {
  const text = title === "client.secretOnce" ? "client.secretOnceText" : "client.createdText";
  const children = (
    <>
      <Head title={t(title)} text={t(secret === undefined ? "client.createdPublic" : text)} />
      <Facts
        t={t}
        facts={[
          [t("client.id"), clientId],
          ...(secret === undefined ? [] : [[t("client.secret"), String(secret)] as const]),
        ]}
      />
      <Actions actions={[{ href: recordPath(clientsPath, clientId), text: t("client.back") }]} />
    </>
  );
  return { title: t(title), children };
}

export function secretChanges(clients: RecordSpec<ClientResource>): readonly ConsoleRoute[] {
  return [
    recordChange(clients, {
      ...{ below: "/secrets/new", operation: "rotateClientSecret", isBeside: true },
      ...{ title: "client.newSecret", ends: "client.newSecretEnds" },
      fields: [
        { name: "overlap", label: "client.overlap", kind: "choice", options: [["3600"], ["86400"], ["604800"], ["0"]] },
      ],
      request: (at, { overlap }) => ({
        method: "POST",
        path: apiPath(clients, at, "/secrets"),
        body: { overlap_seconds: Number(overlap) },
      }),
      done: (at, { body }) => secretView(at, "client.secretOnce", at.parameter("id"), body["client_secret"]),
    }),
    recordChange(clients, {
      ...{ below: "/secrets/:secret/end", operation: "deleteClientSecret", isBeside: true, isDangerous: true },
      ...{ title: "client.endSecret", ends: "client.endSecretEnds" },
      request: (at) => ({
        method: "DELETE",
        path: apiPath(clients, at, `/secrets/${encodeURIComponent(at.parameter("secret"))}`),
      }),
    }),
  ];
}
