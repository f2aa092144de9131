import type { RecordSpec } from "../records/record.ts";

interface DocumentHost {
  readonly host: string;
  readonly policy: string;
}

/** **The hosts that may publish metadata documents of clients**, each with its policy. */
export const documentHosts: RecordSpec<DocumentHost> = {
  ...{
    noun: "DocumentHost",
    path: "/console/document-hosts",
    api: "/client-document-hosts",
    member: "hosts",
    id: "host",
  },
  ...{ scope: "admin:clients", isReplaced: true },
  ...{ kind: "host.kind", plural: "hosts.title", create: "host.create" },
  ends: { create: "host.createEnds", edit: "host.editEnds", delete: "host.deleteEnds" },
  fields: [
    { name: "host", label: "host.host", help: "host.hostHelp", kind: "text", isRequired: true, only: "creation" },
    {
      ...{ name: "policy", label: "host.policy", kind: "choice" },
      options: [
        ["deny", "host.deny"],
        ["ask", "host.ask"],
        ["allow", "host.allow"],
      ],
    },
  ],
  nameOf: ({ host }) => host,
  detailOf: ({ policy }) => [policy],
};
