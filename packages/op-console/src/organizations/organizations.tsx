import type { Paged } from "../api/resources.ts";
import { auditOf, auditScope } from "../audit/audit-pages.tsx";
import { defineRecord } from "../records/define-record.tsx";
import { membersOf, type RecordField, valuesOf } from "../records/members.ts";
import { apiPath, type RecordSpec, recordPath } from "../records/record.ts";
import { defineLists } from "../records/record-pages.tsx";
import { type ChangeSpec, defineChange, type Found } from "../serve/define-change.tsx";
import { Actions, List, Pager, Section, timeText } from "../serve/parts.tsx";
import { type ConsoleRoute, mayUse, type PageCall } from "../serve/route.ts";

const path = "/console/organizations";
const common = { scope: "admin:users" } as const;

interface Organization {
  readonly org_id: string;
  readonly name: string;
  readonly created_at: number;
}

export interface Member {
  readonly sub: string;
  readonly username: string;
  readonly status: "active" | "suspended";
  readonly roles: readonly string[];
  readonly joined_at: number;
}

const memberPath = (at: PageCall, sub: string, below = "") =>
  recordPath(path, at.parameter("id"), recordPath("/members", sub, below));

/** A page of the members, each of whom can be changed or removed. */
async function memberSection(at: PageCall) {
  const { api, t, query, parameter } = at;
  const own = recordPath("/organizations", parameter("id"), "/members");
  const { members, next_cursor: next } = await api.get<Paged & { readonly members: readonly Member[] }>(own, {
    limit: "20",
    cursor: query.get("members") ?? undefined,
  });
  return (
    <Section title={t("member.members")}>
      <List
        t={t}
        items={members.map(({ sub, username, status, roles, joined_at: joined }) => ({
          name: username,
          note: status === "suspended" ? t("record.status.suspended") : undefined,
          detail: [roles.join(" "), t("member.since", { time: timeText(joined) ?? "" })],
          actions: [
            { href: memberPath(at, sub, "/edit"), text: t("record.edit") },
            { href: memberPath(at, sub, "/end"), text: t("member.remove"), isDangerous: true },
          ],
        }))}
      />
      <Pager t={t} path={at.path} query={query} next={next} name="members" />
      <Actions actions={[{ href: recordPath(path, parameter("id"), "/new-member"), text: t("member.add") }]} />
    </Section>
  );
}

const organizations: RecordSpec<Organization> = {
  ...{ ...common, noun: "Organization", path, api: "/organizations", id: "org_id" },
  ...{ kind: "organization.kind", plural: "organizations.organizations", create: "organization.create" },
  ends: {
    ...{ create: "organization.createEnds", edit: "organization.editEnds" },
    ...{ disable: "organization.disableEnds", delete: "organization.deleteEnds" },
  },
  conditions: { name: "organization.name", status: "client.byStatus" },
  fields: [
    {
      ...{ name: "org_id", label: "organization.id", help: "organization.idHelp", kind: "text" },
      ...{ isRequired: true, only: "creation" },
    },
    { name: "name", label: "organization.name", kind: "text", isRequired: true },
  ],
  nameOf: ({ name }) => name,
  detailOf: ({ org_id: id }) => [id],
  facts: ({ t }, { created_at: at }) => [[t("organization.created"), timeText(at)]],
  actions: ({ t, session }, { org_id: target }) =>
    mayUse(session, auditScope) ? [{ href: auditOf({ target }), text: t("user.events") }] : [],
  alsoReads: ["listMembers"],
  sections: memberSection,
};

interface OrganizationRole {
  readonly role: string;
  readonly permissions: readonly string[];
}

/** Roles of members: another list than the roles of the deployment. */
const roles: RecordSpec<OrganizationRole> = {
  ...{ ...common, noun: "OrganizationRole", path: "/console/organization-roles", api: "/organization-roles" },
  ...{ id: "role", member: "organization_roles", isReplaced: true },
  ...{ kind: "role.kind", plural: "organizations.roles", create: "role.create" },
  ends: { create: "organizationRole.ends", edit: "organizationRole.ends", delete: "organizationRole.deleteEnds" },
  fields: [
    { name: "role", label: "role.name", kind: "text", isRequired: true, only: "creation" },
    { name: "permissions", label: "role.permissions", kind: "lines" },
  ],
  nameOf: ({ role }) => role,
  detailOf: ({ permissions }) => [permissions.join(" ")],
};

export const memberFields: readonly RecordField[] = [
  {
    ...{ name: "status", label: "record.status", kind: "choice" },
    options: [
      ["active", "member.active"],
      ["suspended", "record.status.suspended"],
    ],
  },
  { name: "roles", label: "member.roles", kind: "lines" },
];

type MemberChange = Pick<ChangeSpec<Found>, "path" | "operations" | "title" | "ends" | "fields" | "request"> &
  Partial<Pick<ChangeSpec<Found>, "isDangerous" | "find">>;

/** A change of a member, in the version that was shown, which leads back to the organisation. */
function memberChange(change: MemberChange): ConsoleRoute {
  const back = (at: PageCall) => recordPath(path, at.parameter("id"));
  return defineChange({
    ...{ ...common, kind: "member.kind", back, done: back },
    async find(at) {
      const own = apiPath(organizations, at, recordPath("/members", at.parameter("member")));
      const { body, etag } = await at.api.send<Member>({ method: "GET", path: own });
      return { name: body.username, etag, values: valuesOf(memberFields, body) };
    },
    ...change,
  });
}

const putMember = (at: PageCall, sub: string, values: Readonly<Record<string, string>>, isNew: boolean) => ({
  ...({ method: "PUT", path: apiPath(organizations, at, recordPath("/members", sub)), isNew } as const),
  body: membersOf(memberFields, values),
});

const memberChanges: readonly ConsoleRoute[] = [
  memberChange({
    ...{ path: `${path}/:id/new-member`, operations: ["replaceMember"], title: "member.add", ends: "member.addEnds" },
    fields: [{ name: "sub", label: "user.sub", kind: "text", isRequired: true }, ...memberFields],
    find: async () => ({ name: "" }),
    request: (at, { sub = "", ...values }) => putMember(at, sub, values, true),
  }),
  memberChange({
    ...{ path: `${path}/:id/members/:member/edit`, operations: ["readMember", "replaceMember"] },
    ...{ title: "record.edit", ends: "member.editEnds", fields: memberFields },
    request: (at, values) => putMember(at, at.parameter("member"), values, false),
  }),
  memberChange({
    ...{ path: `${path}/:id/members/:member/end`, operations: ["readMember", "deleteMember"] },
    ...{ title: "member.remove", ends: "member.removeEnds", isDangerous: true },
    request: (at) => ({
      method: "DELETE",
      path: apiPath(organizations, at, recordPath("/members", at.parameter("member"))),
    }),
  }),
];

/** **Organisations, their members, and what roles of members give** (ADR 72). */
export const organizationPages: readonly ConsoleRoute[] = [
  defineLists({ path, title: "organizations.title", records: [organizations, roles] }),
  ...defineRecord(organizations),
  ...memberChanges,
  ...defineRecord(roles),
];
