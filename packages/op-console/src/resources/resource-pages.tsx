import type { Paged } from "../api/resources.ts";
import { defineChange, type Found } from "../serve/define-change.tsx";
import { definePage } from "../serve/define-page.tsx";
import { changedFields, type Field, linesOf, type Values } from "../serve/fields.tsx";
import { Actions, Done, Head, List, Pager } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";
import { type ResourceKey, resourceMessages } from "./messages.ts";

const resourcesPath = "/console/resources";
const scope = "admin:clients";
const messages = resourceMessages;

interface Scope {
  readonly value: string;
  readonly description: string;
}

interface Resource {
  readonly resource_id: string;
  readonly identifier: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly clients: readonly string[] | string;
}

const list = definePage<ResourceKey>({
  path: resourcesPath,
  scope,
  operations: ["listResources"],
  messages,
  async show({ api, t, query, path }) {
    const found = await api.get<Paged & { readonly resources: readonly Resource[] }>("/resources", {
      cursor: query.get("cursor") ?? undefined,
    });
    const children = (
      <>
        <Head title={t("resources.title")} />
        <Done t={t} query={query} />
        <List
          t={t}
          items={found.resources.map(({ resource_id: id, identifier, name, scopes }) => ({
            name,
            detail: [identifier, scopes.map(({ value }) => value).join(" ")],
            actions: [
              { href: `${resourcesPath}/${encodeURIComponent(id)}/edit`, text: t("resource.edit") },
              {
                href: `${resourcesPath}/${encodeURIComponent(id)}/delete`,
                text: t("resource.delete"),
                isDangerous: true,
              },
            ],
          }))}
        />
        <Pager t={t} path={path} query={query} next={found.next_cursor} />
        <Actions actions={[{ href: `${resourcesPath}/new`, text: t("resource.create") }]} />
      </>
    );
    return { title: t("resources.title"), children };
  },
});

const fields: readonly Field<ResourceKey>[] = [
  { name: "name", label: "resource.name", kind: "text", isRequired: true },
  { name: "scopes", label: "resource.scopes", help: "resource.scopesHelp", kind: "lines" },
  { name: "clients", label: "resource.clients", help: "resource.clientsHelp", kind: "lines" },
];

const apiPath = (at: PageCall<ResourceKey>) => `/resources/${encodeURIComponent(at.parameter("id"))}`;
const back = () => resourcesPath;

interface FoundResource extends Found {
  readonly scopes: readonly Scope[];
}

async function find(at: PageCall<ResourceKey>): Promise<FoundResource> {
  const { body, etag } = await at.api.send<Resource>({ method: "GET", path: apiPath(at) });
  const values = {
    name: body.name,
    scopes: body.scopes.map(({ value, description }) => `${value}: ${description}`).join("\n"),
    clients: typeof body.clients === "string" ? body.clients : body.clients.join("\n"),
  };
  return { name: body.name, etag, values, scopes: body.scopes };
}

/** Members of the API for fields. What the form does not show of a scope value (translations, `default`) stays. */
function membersOf(values: Values, known: readonly Scope[]): Record<string, unknown> {
  const clients = linesOf(values["clients"]);
  const isRule = clients.length === 1 && (clients[0] === "registered" || clients[0] === "any");
  return {
    name: values["name"],
    scopes: linesOf(values["scopes"]).map((line) => {
      // A scope value may have colons; the separator has a space after it.
      const at = line.indexOf(": ");
      const value = at < 0 ? line : line.slice(0, at);
      return {
        ...known.find((scope) => scope.value === value),
        value,
        description: at < 0 ? line : line.slice(at + 2),
      };
    }),
    clients: isRule ? clients[0] : clients,
  };
}

const edit = defineChange<ResourceKey, FoundResource>({
  path: `${resourcesPath}/:id/edit`,
  scope,
  operations: ["readResource", "updateResource"],
  messages,
  title: "resource.editTitle",
  ends: "resource.editEnds",
  submit: "resource.save",
  fields,
  find,
  request(at, values, found) {
    const names = changedFields(fields, found.values ?? {}, values).map(({ name }) => name);
    const members = Object.entries(membersOf(values, found.scopes)).filter(([name]) => names.includes(name));
    return { method: "PATCH", path: apiPath(at), body: Object.fromEntries(members) };
  },
  done: back,
  back,
});

const create = defineChange<ResourceKey>({
  path: `${resourcesPath}/new`,
  scope,
  operations: ["createResource"],
  messages,
  title: "resource.create",
  ends: "resource.createEnds",
  submit: "resource.createSubmit",
  fields: [
    {
      name: "identifier",
      label: "resource.identifier",
      help: "resource.identifierHelp",
      kind: "text",
      isRequired: true,
    },
    ...fields,
  ],
  find: async () => ({ name: "" }),
  request: (_, values) => ({
    method: "POST",
    path: "/resources",
    body: { identifier: values["identifier"], ...membersOf(values, []) },
  }),
  done: back,
  back,
});

const remove = defineChange<ResourceKey>({
  path: `${resourcesPath}/:id/delete`,
  scope,
  operations: ["readResource", "deleteResource"],
  messages,
  title: "resource.deleteTitle",
  ends: "resource.deleteEnds",
  submit: "resource.deleteSubmit",
  isDangerous: true,
  find,
  request: (at) => ({ method: "DELETE", path: apiPath(at) }),
  done: back,
  back,
});

export const resourcePages: readonly ConsoleRoute[] = [list, create, edit, remove];
