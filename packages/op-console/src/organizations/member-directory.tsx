import { type ChangeSpec, defineChange, type Found } from "../serve/define-change.tsx";
import { definePage } from "../serve/define-page.tsx";
import { linesOf } from "../serve/fields.tsx";
import { Actions, Done, Facts, Head, List, Section, timeText } from "../serve/parts.tsx";
import { type ConsoleRoute, memberPath, type PageCall } from "../serve/route.ts";

const path = "/organization/:org_id";
const own = (at: PageCall, below = "") => memberPath(at.parameter("org_id"), below);

interface Domain {
  readonly domain: string;
  readonly state: "pending" | "verified" | "contested" | "lapsed";
  readonly record_name: string;
  readonly record_value: string;
  readonly checked_at?: number;
}

interface ScimToken {
  readonly id: string;
  readonly name: string;
  readonly expires_at: number;
}

interface ScimGroup {
  readonly group_id: string;
  readonly name: string;
  readonly roles: readonly string[];
}

const connection = { isOfMember: true, scope: "org:connection" } as const;
const directory = { isOfMember: true, scope: "org:scim" } as const;
const domainPath = (domain: string, below = "") => `/domains/${encodeURIComponent(domain)}${below}`;

/** A change that leads back to one of the lists. */
function change(
  list: "/domains" | "/directory",
  spec: Pick<ChangeSpec<Found>, "path" | "scope" | "operations" | "title" | "ends" | "request"> &
    Partial<Pick<ChangeSpec<Found>, "isDangerous" | "fields" | "find" | "done">>,
): ConsoleRoute {
  const back = (at: PageCall) => own(at, list);
  return defineChange({
    ...{ isOfMember: true, back, done: back },
    find: async (at) => ({ name: at.parameter("domain") || at.parameter("id") }),
    ...spec,
  });
}

const domains = definePage({
  ...{ ...connection, path: `${path}/domains`, operations: ["listDomains"] },
  async show(at) {
    const { api, t, query } = at;
    const { domains: found } = await api.get<{ readonly domains: readonly Domain[] }>("/domains", { limit: "50" });
    const children = (
      <>
        <Head title={t("own.domains")} text={t("own.domainsText")} />
        <Done {...{ t, query }} />
        <List
          t={t}
          items={found.map(({ domain, state, record_name: name, record_value: value, checked_at: checked }) => ({
            name: domain,
            note: t(`own.domain.${state}`),
            facts: [
              [t("own.recordName"), name],
              [t("own.recordValue"), value],
              [t("own.checked"), timeText(checked)],
            ],
            actions: [
              { href: own(at, domainPath(domain, "/check")), text: t("own.check") },
              { href: own(at, domainPath(domain, "/end")), text: t("own.deleteDomain"), isDangerous: true },
            ],
          }))}
        />
        <Actions actions={[{ href: own(at, "/new-domain"), text: t("own.addDomain") }]} />
      </>
    );
    return { title: t("own.domains"), children };
  },
});

const directoryPage = definePage({
  ...{ ...directory, path: `${path}/directory`, operations: ["listScimTokens", "listScimGroups"] },
  async show(at) {
    const { api, t, query, session, context } = at;
    const [{ scim_tokens: tokens }, { scim_groups: groups }] = await Promise.all([
      api.get<{ readonly scim_tokens: readonly ScimToken[] }>("/scim-tokens"),
      api.get<{ readonly scim_groups: readonly ScimGroup[] }>("/scim-groups", { limit: "50" }),
    ]);
    const isOwner = session.scopes.includes("org:owner");
    const children = (
      <>
        <Head title={t("own.directory")} text={t("own.directoryText")} />
        <Done {...{ t, query }} />
        <Facts t={t} facts={[[t("own.scimUrl"), scimUrl(context.settings.issuer, at.parameter("org_id"))]]} />
        <Section title={t("own.scimTokens")}>
          <List
            t={t}
            items={tokens.map(({ id, name, expires_at: ends }) => ({
              name,
              detail: [t("own.scimTokenEnds", { time: timeText(ends) ?? "" })],
              actions: [
                {
                  href: own(at, `/scim-tokens/${encodeURIComponent(id)}/end`),
                  text: t("own.deleteScimToken"),
                  isDangerous: true,
                },
              ],
            }))}
          />
          <Actions actions={[{ href: own(at, "/new-scim-token"), text: t("own.newScimToken") }]} />
        </Section>
        <Section title={t("own.scimGroups")}>
          <List
            t={t}
            items={groups.map(({ group_id: id, name, roles }) => ({
              name,
              detail: [roles.join(" ")],
              actions: isOwner
                ? [{ href: own(at, `/scim-groups/${encodeURIComponent(id)}/edit`), text: t("record.edit") }]
                : [],
            }))}
          />
        </Section>
      </>
    );
    return { title: t("own.directory"), children };
  },
});

function scimUrl(issuer: string, orgId: string): string {
  return `${issuer}/scim/${encodeURIComponent(orgId)}/v2`;
}

/** **The domains of a member's own organisation, and its directory** (SCIM). */
export const memberDomainPages: readonly ConsoleRoute[] = [
  domains,
  change("/domains", {
    ...{ ...connection, path: `${path}/new-domain`, operations: ["claimDomain"] },
    ...{ title: "own.addDomain", ends: "own.addDomainEnds" },
    fields: [{ name: "domain", label: "own.domain", kind: "text", isRequired: true }],
    request: (_, { domain = "" }) => ({ method: "PUT", path: domainPath(domain) }),
  }),
  change("/domains", {
    ...{ ...connection, path: `${path}/domains/:domain/check`, operations: ["checkDomain"] },
    ...{ title: "own.check", ends: "own.checkEnds" },
    request: (at) => ({ method: "POST", path: domainPath(at.parameter("domain"), "/check") }),
  }),
  change("/domains", {
    ...{ ...connection, path: `${path}/domains/:domain/end`, operations: ["deleteDomain"] },
    ...{ title: "own.deleteDomain", ends: "own.deleteDomainEnds", isDangerous: true },
    request: (at) => ({ method: "DELETE", path: domainPath(at.parameter("domain")) }),
  }),
  directoryPage,
  change("/directory", {
    ...{ ...directory, path: `${path}/new-scim-token`, operations: ["createScimToken"] },
    ...{ title: "own.newScimToken", ends: "own.newScimTokenEnds" },
    fields: [{ name: "name", label: "own.scimTokenName", kind: "text", isRequired: true }],
    request: (_, { name }) => ({ method: "POST", path: "/scim-tokens", body: { name } }),
    done(at, { body }) {
      const { t, context } = at;
      const children = (
        <>
          <Head title={t("own.scimTokenOnce")} text={t("client.secretOnceText")} />
          <Facts
            t={t}
            facts={[
              [t("own.scimUrl"), scimUrl(context.settings.issuer, at.parameter("org_id"))],
              [t("own.scimToken"), String(body["token"])],
            ]}
          />
          <Actions actions={[{ href: own(at, "/directory"), text: t("own.back") }]} />
        </>
      );
      return { title: t("own.scimTokenOnce"), children };
    },
  }),
  change("/directory", {
    ...{ ...directory, path: `${path}/scim-tokens/:id/end`, operations: ["deleteScimToken"] },
    ...{ title: "own.deleteScimToken", ends: "own.deleteScimTokenEnds", isDangerous: true },
    request: (at) => ({ method: "DELETE", path: `/scim-tokens/${encodeURIComponent(at.parameter("id"))}` }),
  }),
  change("/directory", {
    ...{ ...directory, path: `${path}/scim-groups/:id/edit`, operations: ["listScimGroups", "replaceScimGroup"] },
    ...{ title: "record.edit", ends: "own.scimGroupEnds" },
    fields: [{ name: "roles", label: "member.roles", kind: "lines" }],
    async find({ api, parameter }) {
      const { scim_groups: groups } = await api.get<{ readonly scim_groups: readonly ScimGroup[] }>("/scim-groups", {
        limit: "50",
      });
      const group = groups.find(({ group_id: id }) => id === parameter("id"));
      return { name: group?.name ?? parameter("id"), values: { roles: group?.roles.join("\n") ?? "" } };
    },
    request: (at, { roles }) => ({
      ...{ method: "PUT", path: `/scim-groups/${encodeURIComponent(at.parameter("id"))}` },
      body: { roles: linesOf(roles) },
    }),
  }),
];
