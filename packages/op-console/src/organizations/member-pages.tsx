import type { MemberPermission } from "../api/admin-api.ts";
import type { Paged } from "../api/resources.ts";
import { membersOf, type RecordField, valuesOf } from "../records/members.ts";
import { type ChangeSpec, defineChange, type Found } from "../serve/define-change.tsx";
import { definePage } from "../serve/define-page.tsx";
import type { ConsoleKey } from "../serve/messages.ts";
import { Actions, Done, Facts, Head, type Item, List, Pager, Section, timeText } from "../serve/parts.tsx";
import { type ConsoleRoute, mayUse, memberPath, type PageCall } from "../serve/route.ts";
import { memberDomainPages } from "./member-directory.tsx";
import { type Member, memberFields } from "./organizations.tsx";

const path = "/organization/:org_id";
const common = { isOfMember: true } as const;

interface OwnOrganization {
  readonly org_id: string;
  readonly name: string;
  readonly require_mfa?: boolean;
}

interface Invitation {
  readonly invitation_id: string;
  readonly email: string;
  readonly member_roles: readonly string[];
  readonly expires_at: number;
}

interface OrganizationRole {
  readonly role: string;
  readonly permissions: readonly string[];
}

const own = (at: PageCall, below = "") => memberPath(at.parameter("org_id"), below);
const person = (sub: string, below = "") => `/members/${encodeURIComponent(sub)}${below}`;

/** The steps of the set-up that the person may take, each with its state. */
async function stepsOf(at: PageCall): Promise<readonly Item[]> {
  const { api, t, session } = at;
  const step = async (
    scope: MemberPermission,
    page: string,
    text: ConsoleKey,
    isDone: () => Promise<boolean>,
  ): Promise<readonly Item[]> => {
    if (!mayUse(session, scope)) return [];
    const note = t((await isDone()) ? "own.done" : "own.open");
    return [{ name: t(text), note, actions: [{ href: own(at, page), text: t("own.go") }] }];
  };
  const steps = await Promise.all([
    step("org:members", "/members", "own.stepMembers", async () => {
      const { members } = await api.get<{ readonly members: readonly Member[] }>("/members", { limit: "2" });
      return members.length > 1;
    }),
    step("org:connection", "/domains", "own.stepDomain", async () => {
      const { domains } = await api.get<{ readonly domains: readonly { readonly state: string }[] }>("/domains");
      return domains.some(({ state }) => state === "verified");
    }),
    step("org:scim", "/directory", "own.stepDirectory", async () => {
      const { scim_tokens: tokens } = await api.get<{ readonly scim_tokens: readonly unknown[] }>("/scim-tokens");
      return tokens.length > 0;
    }),
  ]);
  return steps.flat();
}

const overview = definePage({
  ...{ ...common, path, scope: undefined },
  operations: ["readOrganization", "listMembers", "listDomains", "listScimTokens"],
  async show(at) {
    const { api, t, session, query } = at;
    const [{ name, org_id: id, require_mfa: requiresMfa = false }, steps] = await Promise.all([
      api.get<OwnOrganization>(""),
      stepsOf(at),
    ]);
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
        {steps.length > 0 && (
          <Section title={t("own.steps")}>
            <List t={t} items={steps} />
          </Section>
        )}
      </>
    );
    return { title: name, children };
  },
});

const members = definePage({
  ...{ ...common, path: `${path}/members`, scope: "org:members" },
  operations: ["listMembers", "listOrganizationRoles", "listMemberInvitations"],
  async show(at) {
    const { api, t, query } = at;
    const [list, { organization_roles: roles }, { invitations }] = await Promise.all([
      api.get<Paged & { readonly members: readonly Member[] }>("/members", {
        limit: "20",
        cursor: query.get("members") ?? undefined,
      }),
      api.get<{ readonly organization_roles: readonly OrganizationRole[] }>("/roles"),
      api.get<{ readonly invitations: readonly Invitation[] }>("/invitations", { limit: "50" }),
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
        <Section title={t("users.invitations")}>
          <List
            t={t}
            items={invitations.map(({ invitation_id: id, email, member_roles: given, expires_at: ends }) => ({
              name: email,
              detail: [given.join(" "), t("own.invitationEnds", { time: timeText(ends) ?? "" })],
              actions: [
                {
                  href: own(at, `/invitations/${encodeURIComponent(id)}/end`),
                  text: t("own.withdraw"),
                  isDangerous: true,
                },
              ],
            }))}
          />
          <Actions actions={[{ href: own(at, "/invite"), text: t("own.invite") }]} />
        </Section>
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

const inviteFields: readonly RecordField[] = [
  { name: "email", label: "own.email", kind: "text", isRequired: true },
  { name: "name", label: "own.personName", kind: "text" },
  { name: "roles", label: "member.roles", kind: "lines" },
];

const toMembers = (at: PageCall) => own(at, "/members");

const invitationChanges: readonly ConsoleRoute[] = [
  defineChange({
    ...{ ...common, path: `${path}/invite`, scope: "org:members", operations: ["inviteMember"] },
    ...{ title: "own.invite", ends: "own.inviteEnds", fields: inviteFields, back: toMembers, done: toMembers },
    find: async () => ({ name: "" }),
    request: (_, values) => ({ method: "POST", path: "/invitations", body: membersOf(inviteFields, values) }),
  }),
  defineChange({
    ...{ ...common, path: `${path}/invitations/:id/end`, scope: "org:members", isDangerous: true },
    ...{ operations: ["listMemberInvitations", "withdrawMemberInvitation"] },
    ...{ title: "own.withdraw", ends: "own.withdrawEnds", back: toMembers, done: toMembers },
    async find({ api, parameter }) {
      const { invitations } = await api.get<{ readonly invitations: readonly Invitation[] }>("/invitations", {
        limit: "50",
      });
      const found = invitations.find(({ invitation_id: id }) => id === parameter("id"));
      return { name: found?.email ?? parameter("id") };
    },
    request: (at) => ({ method: "DELETE", path: `/invitations/${encodeURIComponent(at.parameter("id"))}` }),
  }),
];

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
  ...invitationChanges,
  settings,
  ...memberDomainPages,
];
