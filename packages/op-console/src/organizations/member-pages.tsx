import type { Paged } from "../api/resources.ts";
import { membersOf, type RecordField, valuesOf } from "../records/members.ts";
import { type ChangeSpec, defineChange, type Found } from "../serve/define-change.tsx";
import { definePage } from "../serve/define-page.tsx";
import { Done, Facts, Head, List, Pager, Section, timeText } from "../serve/parts.tsx";
import { type ConsoleRoute, mayUse, memberPath, type PageCall } from "../serve/route.ts";
import { type Member, memberFields } from "./organizations.tsx";

const path = "/organization/:org_id";
const common = { isOfMember: true } as const;

interface OwnOrganization {
  readonly org_id: string;
  readonly name: string;
  readonly require_mfa?: boolean;
}

interface OrganizationRole {
  readonly role: string;
  readonly permissions: readonly string[];
}

const own = (at: PageCall, below = "") => memberPath(at.parameter("org_id"), below);
const person = (sub: string, below = "") => `/members/${encodeURIComponent(sub)}${below}`;

const overview = definePage({
  ...{ ...common, path, scope: undefined, operations: ["readOrganization"] },
  async show({ api, t, session, query }) {
    const { name, org_id: id, require_mfa: requiresMfa = false } = await api.get<OwnOrganization>("");
    const children = (
      <>
        <Head title={name} text={t("own.text")} />
        <Done {...{ t, query }} />
        <Facts
          t={t}
          facts={[
            [t("organization.id"), id],
            [t("own.requireMfa"), requiresMfa],
            [t("own.permissions"), session.scopes],
          ]}
        />
      </>
    );
    return { title: name, children };
  },
});

const members = definePage({
  ...{ ...common, path: `${path}/members`, scope: "org:members" },
  operations: ["listMembers", "listOrganizationRoles"],
  async show(at) {
    const { api, t, query } = at;
    const [list, { organization_roles: roles }] = await Promise.all([
      api.get<Paged & { readonly members: readonly Member[] }>("/members", {
        limit: "20",
        cursor: query.get("members") ?? undefined,
      }),
      api.get<{ readonly organization_roles: readonly OrganizationRole[] }>("/roles"),
    ]);
    const children = (
      <>
        <Head title={t("member.members")} />
        <Done {...{ t, query }} />
        <List
          t={t}
          items={list.members.map(({ sub, username, status, roles: held, joined_at: joined }) => ({
            name: username,
            note: status === "suspended" ? t("record.status.suspended") : undefined,
            detail: [held.join(" "), t("member.since", { time: timeText(joined) ?? "" })],
            actions: [
              { href: own(at, person(sub, "/edit")), text: t("record.edit") },
              { href: own(at, person(sub, "/end")), text: t("member.remove"), isDangerous: true },
            ],
          }))}
        />
        <Pager t={t} path={at.path} query={query} next={list.next_cursor} name="members" />
        <Section title={t("own.roles")}>
          <Facts t={t} facts={roles.map(({ role, permissions }) => [role, permissions, "data"] as const)} />
        </Section>
      </>
    );
    return { title: t("member.members"), children };
  },
});

type MemberChange = Pick<ChangeSpec<Found>, "path" | "operations" | "title" | "ends" | "request"> &
  Partial<Pick<ChangeSpec<Found>, "isDangerous" | "fields">>;

/** A change of a member, in the version that was shown, which leads back to the list. */
function memberChange(change: MemberChange): ConsoleRoute {
  const back = (at: PageCall) => own(at, "/members");
  return defineChange({
    ...{ ...common, scope: "org:members", kind: "member.kind", back, done: back },
    async find(at) {
      const { body, etag } = await at.api.send<Member>({ method: "GET", path: person(at.parameter("member")) });
      return { name: body.username, etag, values: valuesOf(memberFields, body) };
    },
    ...change,
  });
}

const settingsFields: readonly RecordField[] = [
  { name: "name", label: "organization.name", kind: "text", isRequired: true },
  { name: "require_mfa", label: "own.requireMfa", help: "own.requireMfaHelp", kind: "check" },
];

const settings = defineChange({
  ...{ ...common, path: `${path}/settings`, scope: "org:settings", fields: settingsFields },
  ...{ operations: ["readOrganization", "updateOrganization"], title: "nav.settings", ends: "own.settingsEnds" },
  back: (at) => own(at),
  done: (at) => own(at),
  async find({ api }) {
    const { body, etag } = await api.send<OwnOrganization>({ method: "GET", path: "" });
    return { name: body.name, etag, values: valuesOf(settingsFields, body) };
  },
  request: (_, values) => ({ method: "PATCH", path: "", body: membersOf(settingsFields, values) }),
});

/**
 * **What a company administers itself** (ADR 72): pages over `/organizations/{org_id}`, for members with a permission that begins with `org:`. They
 * can do nothing that the person's token cannot do anywhere else.
 */
export const memberPages: readonly ConsoleRoute[] = [
  overview,
  members,
  memberChange({
    ...{ path: `${path}/members/:member/edit`, operations: ["readMember", "replaceMember"] },
    ...{ title: "record.edit", ends: "member.editEnds", fields: memberFields },
    request: (at, values) => ({
      ...{ method: "PUT", path: person(at.parameter("member")) },
      body: membersOf(memberFields, values),
    }),
  }),
  memberChange({
    ...{ path: `${path}/members/:member/end`, operations: ["readMember", "deleteMember"] },
    ...{ title: "member.remove", ends: "member.removeEnds", isDangerous: true },
    request: (at) => ({ method: "DELETE", path: person(at.parameter("member")) }),
  }),
  settings,
];
