import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import type * as z from "zod";
import { formatEtag } from "../admin/entity-tags.ts";
import type { clientSchema } from "./client-resource-schema.ts";
import type { StoredClient } from "./client-store.ts";

/** **A client as the admin API shows it**: RFC 7591's client information, never a secret. */
export function toResource(client: StoredClient): z.input<typeof clientSchema> {
  return {
    client_id: client.clientId,
    client_id_issued_at: toSeconds(client.createdAtMs),
    updated_at: toSeconds(client.updatedAtMs),
    status: client.status,
    ...(client.origin === undefined ? {} : { origin: client.origin }),
    ...client.metadata,
  };
}

export function toResponse(client: StoredClient) {
  return { body: toResource(client), headers: { ETag: formatEtag(client.updatedAtMs) } };
}
