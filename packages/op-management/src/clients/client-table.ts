import type { ClientMetadata } from "@edge-op/shared/clients/client";
import { clientIdPattern } from "@edge-op/shared/clients/client-schema";
import { json, optional, text } from "../admin/columns.ts";
import { isSubjectTaken, takenError } from "../admin/taken-ids.ts";
import { type StoredIn, VersionedTable } from "../admin/versioned-table.ts";

/** **Clients in D1**. A client that is known by a metadata document has the document's URL as its id. */
export const clients = new VersionedTable({
  name: "clients",
  noun: "client",
  members: {
    clientId: text("client_id"),
    status: text("status", ["active", "disabled"]),
    metadata: json<ClientMetadata>("metadata"),
    /** Undefined if an administrator registered the client. */
    origin: optional(text("origin", ["document", "registration"])),
  },
  key: "clientId",
  isKey: (id) => clientIdPattern.test(id) || /^https?:\/\/[\x21-\x7e]{1,250}$/.test(id),
  document: "metadata",
  missing: "client-not-found",
  forget: ({ clientId }) => [{ kind: "client", id: clientId }],
  async findTaken(database, { clientId }, known) {
    if (known !== undefined || !(await isSubjectTaken(database, clientId))) return undefined;
    return takenError("client_id");
  },
});

/** An empty scope has no text (RFC 6749 §3.3), so no response contains one. */
export function withoutEmptyScope<Metadata extends Pick<ClientMetadata, "scope">>(metadata: Metadata) {
  const { scope, ...others } = metadata;
  return scope === "" ? others : { ...others, scope };
}

export type StoredClient = StoredIn<typeof clients>;
