import { clientIdPattern, metadataSchema, writableMembers } from "@edge-op/shared/clients/client-schema";
import * as z from "zod";
import { mergePatchOf } from "../admin/merge-patch.ts";
import { nextCursor, pageQuery } from "../admin/paging.ts";

/**
 * **Requests and responses of `/admin/clients`**: the members of a client, its id, its status and its times.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-3.2.1
 */
const status = z.enum(["active", "disabled"]);

/** The members that an operator may write: metadata and whether the client is in use. */
const writableClient = z.strictObject({ ...writableMembers, status }).partial();

export const clientCreateSchema = writableClient
  .extend({
    client_id: z
      .string()
      .regex(clientIdPattern, "must be 1 to 64 letters, digits, dots, hyphens, underscores or tildes")
      .optional()
      .describe("Chosen by the server unless given."),
  })
  .meta({ id: "ClientCreate" });

/** A patch may name a status, but not remove it: a removed status would put a disabled client back into use. */
export const clientPatchSchema = mergePatchOf(writableClient)
  .extend({ status: status.optional() })
  .meta({ id: "ClientPatch" });

const issued = {
  client_id: z.string(),
  client_id_issued_at: z.int().describe("Seconds since the epoch."),
  updated_at: z.int().describe("Seconds since the epoch."),
};

const origin = z
  .enum(["document", "registration"])
  .optional()
  .describe("Present if no administrator registered it: it is known by its metadata document, or registered itself.");

export const clientSchema = metadataSchema.extend({ ...issued, status, origin }).meta({ id: "Client" });

export const createdClientSchema = clientSchema
  .extend({
    client_secret: z.string().optional().describe("Shown this once; absent for clients that have none."),
    client_secret_expires_at: z.int().optional().describe("0: it does not expire (RFC 7591 §3.2.1)."),
  })
  .meta({ id: "CreatedClient" });

export const clientListSchema = z
  .strictObject({ clients: z.array(clientSchema), next_cursor: nextCursor })
  .meta({ id: "ClientList" });

export const clientListQuery = pageQuery.extend({ status: status.optional() });
