import { defineRecord } from "../records/define-record.tsx";
import type { RecordSpec } from "../records/record.ts";
import { defineLists } from "../records/record-pages.tsx";
import type { ConsoleRoute } from "../serve/route.ts";
import { warnOfRoles } from "./warn-of-names.tsx";

const path = "/console/roles";
const common = { scope: "admin:users" } as const;

interface Role {
  readonly role: string;
  readonly permissions: readonly string[];
}

const roles: RecordSpec<Role> = {
  ...{ ...common, noun: "Role", path, api: "/roles", id: "role", isReplaced: true },
  ...{ kind: "role.kind", plural: "roles.roles", create: "role.create" },
  ends: { create: "role.editEnds", edit: "role.editEnds", delete: "role.deleteEnds" },
  fields: [
    { name: "role", label: "role.name", kind: "text", isRequired: true, only: "creation" },
    { name: "permissions", label: "role.permissions", kind: "lines" },
  ],
  nameOf: ({ role }) => role,
  detailOf: ({ permissions }) => [permissions.join(" ")],
};

interface Group {
  readonly group: string;
  readonly roles: readonly string[];
}

const groups: RecordSpec<Group> = {
  ...{ ...common, noun: "Group", path: "/console/groups", api: "/groups", id: "group", isReplaced: true },
  ...{ kind: "group.kind", plural: "roles.groups", create: "group.create" },
  ends: { create: "group.editEnds", edit: "group.editEnds", delete: "group.deleteEnds" },
  fields: [
    { name: "group", label: "group.name", kind: "text", isRequired: true, only: "creation" },
    { name: "roles", label: "group.roles", kind: "lines" },
  ],
  warning: warnOfRoles,
  nameOf: ({ group }) => group,
  detailOf: ({ roles: given }) => [given.join(" ")],
};

interface Attribute {
  readonly attribute: string;
  readonly type: string;
  readonly title: string;
  readonly claim?: { readonly name: string; readonly scope: string };
}

/** Attributes of people besides the standard claims. */
const attributes: RecordSpec<Attribute> = {
  ...{ ...common, noun: "Attribute", path: "/console/attributes", api: "/attributes", id: "attribute" },
  ...{ kind: "attribute.kind", plural: "roles.attributes", create: "attribute.create" },
  ends: { create: "attribute.createEnds", edit: "attribute.editEnds", delete: "attribute.deleteEnds" },
  fields: [
    { name: "attribute", label: "attribute.name", kind: "text", isRequired: true, only: "creation" },
    {
      ...{ name: "type", label: "attribute.type", kind: "choice", only: "creation" },
      options: [["string"], ["number"], ["boolean"], ["strings"]],
    },
    { name: "title", label: "attribute.title", kind: "text", isRequired: true },
    { name: "titles", label: "attribute.titles", kind: "pairs", withoutText: "absent" },
    {
      ...{ name: "format", label: "attribute.format", kind: "choice" },
      options: [["", "value.none"], ["date"], ["date-time"], ["email"], ["phone"], ["uri"], ["uuid"]],
    },
    { name: "values", label: "attribute.values", kind: "lines", withoutText: "absent" },
    { name: "max_length", label: "attribute.maxLength", kind: "number" },
    { name: "max_items", label: "attribute.maxItems", kind: "number" },
    { name: "minimum", label: "attribute.minimum", kind: "number" },
    { name: "maximum", label: "attribute.maximum", kind: "number" },
    { name: "claim.name", label: "attribute.claim", help: "attribute.claimHelp", kind: "text" },
    { name: "claim.scope", label: "attribute.scope", kind: "text" },
    {
      ...{ name: "claim.tokens", label: "attribute.tokens", help: "attribute.tokensHelp", kind: "lines" },
      withoutText: "absent",
    },
    { name: "claim.clients", label: "attribute.clients", kind: "lines", withoutText: "absent" },
    { name: "claim.resources", label: "attribute.resources", kind: "lines", withoutText: "absent" },
  ],
  nameOf: ({ attribute }) => attribute,
  detailOf: ({ title, type, claim }) => [[title, type, claim?.name, claim?.scope].filter(Boolean).join(" · ")],
};

export const rolePages: readonly ConsoleRoute[] = [
  defineLists({ path, title: "roles.title", records: [roles, groups, attributes] }),
  ...defineRecord(roles),
  ...defineRecord(groups),
  ...defineRecord(attributes),
];
