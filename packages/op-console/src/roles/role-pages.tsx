import type { Paged } from "../api/resources.ts";
import { defineChange } from "../serve/define-change.tsx";
import { definePage } from "../serve/define-page.tsx";
import { linesOf } from "../serve/fields.tsx";
import { Actions, Done, Head, List, Pager, Section } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";
import { type RoleKey, roleMessages } from "./messages.ts";

const rolesPath = "/console/roles";
const groupsPath = `${rolesPath}/groups`;
const scope = "admin:users";
const messages = roleMessages;

interface Role {
  readonly role: string;
  readonly permissions: readonly string[];
}

interface Group {
  readonly group: string;
  readonly roles: readonly string[];
}

const list = definePage<RoleKey>({
  path: rolesPath,
  scope,
  operations: ["listRoles", "listGroups"],
  messages,
  async show({ api, t, query, path }) {
    const [roles, groups] = await Promise.all([
      api.get<Paged & { readonly roles: readonly Role[] }>("/roles", { cursor: query.get("roles") ?? undefined }),
      api.get<Paged & { readonly groups: readonly Group[] }>("/groups", { cursor: query.get("groups") ?? undefined }),
    ]);
    const actionsFor = (base: string, name: string) => [
      { href: `${base}/${encodeURIComponent(name)}/edit`, text: t("role.edit") },
      { href: `${base}/${encodeURIComponent(name)}/delete`, text: t("role.delete"), isDangerous: true },
    ];
    const children = (
      <>
        <Head title={t("roles.title")} />
        <Done t={t} query={query} />
        <Section title={t("roles.roles")}>
          <List
            t={t}
            items={roles.roles.map(({ role, permissions }) => ({
              name: role,
              detail: [permissions.join(" ")],
              actions: actionsFor(`${rolesPath}/role`, role),
            }))}
          />
          <Pager t={t} path={path} query={query} next={roles.next_cursor} name="roles" />
          <Actions actions={[{ href: `${rolesPath}/new`, text: t("role.create") }]} />
        </Section>
        <Section title={t("roles.groups")}>
          <List
            t={t}
            items={groups.groups.map(({ group, roles: given }) => ({
              name: group,
              detail: [given.join(" ")],
              actions: actionsFor(`${groupsPath}/group`, group),
            }))}
          />
          <Pager t={t} path={path} query={query} next={groups.next_cursor} name="groups" />
          <Actions actions={[{ href: `${groupsPath}/new`, text: t("group.create") }]} />
        </Section>
      </>
    );
    return { title: t("roles.title"), children };
  },
});

const back = () => rolesPath;

/** The pages of one kind: roles give permissions, groups give roles. */
function changesOf(noun: "role" | "group", gives: "permissions" | "roles", base: string): readonly ConsoleRoute[] {
  const title = noun === "role" ? "Role" : "Group";
  const given = (noun === "role" ? "role.permissions" : "group.roles") satisfies RoleKey;
  const apiPath = (name: string) => `/${noun}s/${encodeURIComponent(name)}`;
  const common = { scope, messages, done: back, back } as const;
  const find = async ({ api, parameter }: PageCall<RoleKey>) => {
    const name = parameter("name");
    const { body, etag } = await api.send<Record<string, readonly string[]>>({ method: "GET", path: apiPath(name) });
    return { name, etag, values: { given: (body[gives] ?? []).join("\n") } };
  };
  const texts = { ends: `${noun}.editEnds`, submit: `${noun}.save` } as const;
  return [
    defineChange<RoleKey>({
      ...common,
      ...texts,
      path: `${base}/new`,
      operations: [`replace${title}`],
      title: `${noun}.createTitle`,
      fields: [
        { name: "name", label: `${noun}.name`, kind: "text", isRequired: true },
        { name: "given", label: given, kind: "lines" },
      ],
      find: async () => ({ name: "" }),
      request: (_, values) => ({
        method: "PUT",
        path: apiPath(values["name"] ?? ""),
        body: { [gives]: linesOf(values["given"]) },
        isNew: true,
      }),
    }),
    defineChange<RoleKey>({
      ...common,
      ...texts,
      path: `${base}/${noun}/:name/edit`,
      operations: [`read${title}`, `replace${title}`],
      title: `${noun}.editTitle`,
      fields: [{ name: "given", label: given, kind: "lines" }],
      find,
      request: (at, values) => ({
        method: "PUT",
        path: apiPath(at.parameter("name")),
        body: { [gives]: linesOf(values["given"]) },
      }),
    }),
    defineChange<RoleKey>({
      ...common,
      path: `${base}/${noun}/:name/delete`,
      operations: [`read${title}`, `delete${title}`],
      title: `${noun}.deleteTitle`,
      ends: `${noun}.deleteEnds`,
      submit: `${noun}.deleteSubmit`,
      isDangerous: true,
      find,
      request: (at) => ({ method: "DELETE", path: apiPath(at.parameter("name")) }),
    }),
  ];
}

export const rolePages: readonly ConsoleRoute[] = [
  list,
  ...changesOf("role", "permissions", rolesPath),
  ...changesOf("group", "roles", groupsPath),
];
