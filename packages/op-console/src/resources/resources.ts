import { defineRecord } from "../records/define-record.tsx";
import { pairOf } from "../records/members.ts";
import type { RecordSpec } from "../records/record.ts";
import { defineLists } from "../records/record-pages.tsx";
import { linesOf } from "../serve/fields.tsx";
import type { ConsoleRoute } from "../serve/route.ts";

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

const readScopes = (member: unknown) =>
  ((member ?? []) as readonly Scope[]).map(({ value, description }) => `${value}: ${description}`).join("\n");

/** Keeps the members of a scope value that the form does not show (translations, `default`). */
function writeScopes(text: string, record: object): readonly Scope[] {
  const { scopes: known = [] } = record as Partial<Resource>;
  return linesOf(text).map((line) => {
    const [value, description] = pairOf(line);
    return { ...known.find((scope) => scope.value === value), value, description: description || value };
  });
}

function writeClients(text: string): readonly string[] | string {
  const [only = "", ...others] = linesOf(text);
  return others.length === 0 && (only === "registered" || only === "any") ? only : linesOf(text);
}

/** **Resources**: the APIs and MCP servers that tokens are for. */
const resources: RecordSpec<Resource> = {
  ...{ noun: "Resource", path: "/console/resources", api: "/resources", id: "resource_id", scope: "admin:clients" },
  ...{ kind: "resource.kind", plural: "resources.title", create: "resource.create" },
  ends: { create: "resource.createEnds", edit: "resource.editEnds", delete: "resource.deleteEnds" },
  fields: [
    {
      ...{ name: "identifier", label: "resource.identifier", help: "resource.identifierHelp" },
      ...{ kind: "text", isRequired: true, only: "creation" },
    },
    { name: "name", label: "resource.name", kind: "text", isRequired: true },
    {
      ...{ name: "scopes", label: "resource.scopes", help: "resource.scopesHelp", kind: "lines" },
      ...{ read: readScopes, write: writeScopes },
    },
    { name: "clients", label: "resource.clients", help: "resource.clientsHelp", kind: "lines", write: writeClients },
    { name: "access_token_lifetime", label: "resource.lifetime", kind: "number" },
  ],
  nameOf: ({ name }) => name,
  detailOf: ({ identifier, scopes }) => [identifier, scopes.map(({ value }) => value).join(" ")],
};

export const resourcePages: readonly ConsoleRoute[] = [
  defineLists({ path: resources.path, title: resources.plural, records: [resources] }),
  ...defineRecord(resources),
];
