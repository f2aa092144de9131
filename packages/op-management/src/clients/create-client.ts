import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import { usesSecret } from "@edge-op/protocol/oauth/registered-names";
import { requireDocument, requireSector } from "@edge-op/shared/clients/checked-metadata";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import type { RetirementBindings } from "@edge-op/shared/users/retired-subs";
import type { ActorRequest } from "../admin/actor.ts";
import { isSubRetired, takenError } from "../admin/taken-ids.ts";
import { requireAuthorityOver } from "./client-authority.ts";
import { clients, type StoredClient } from "./client-table.ts";
import { newSecret } from "./secret-store.ts";
import { requireRegistrationSize, requireRoomToRegister, roomToRegister } from "./self-registration.ts";

export interface ClientRegistration {
  /** Chosen by the server if `undefined`; otherwise it matches `clientIdPattern`. */
  readonly clientId: string | undefined;
  readonly status: StoredClient["status"];
  /** The metadata, unchecked and without defaults. */
  readonly document: JsonObject;
  /** The secret that the client has already; by default a new one. */
  readonly secret?: string | undefined;
  /** The client registers itself: the size of its record and the number of unused registrations are limited. */
  readonly registersItself?: boolean;
}

export interface CreatedClient {
  readonly client: StoredClient;
  /** The secret, of which only a sealed hash is stored, and which is available only now. `undefined` for a client without a secret. */
  readonly secret: string | undefined;
}

/**
 * **Creates a client** by every rule of this folder, and records the actor. Refuses with every fault of the document, if the actor lacks authority,
 * or if the id is taken. Cost: 1 D1; for a chosen `clientId` 2 more, in parallel, and a round of the control plane; a fetch of
 * `sector_identifier_uri` if there is one.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-3.2.1
 */
export async function createClient(
  request: ActorRequest<RetirementBindings>,
  { clientId: chosen, status, document, secret: kept, registersItself = false }: ClientRegistration,
): Promise<CreatedClient> {
  const { env, settings } = request.context;
  const metadata = await requireDocument(document, settings);
  requireAuthorityOver(request.actor, metadata, settings.issuer);
  if (chosen !== undefined && (await isSubRetired(env, chosen))) {
    throw takenError("client_id", "was the sub of a deleted user, and is never given again");
  }
  if (registersItself) requireRegistrationSize(metadata);
  await requireSector(request.context, metadata);
  const clientId = chosen ?? newClientId();
  const atMs = nowMs();
  const origin = registersItself ? "registration" : undefined;
  const client: StoredClient = { clientId, status, metadata, origin, createdAtMs: atMs, updatedAtMs: atMs };
  const hasSecret = usesSecret(metadata.token_endpoint_auth_method);
  if (kept !== undefined && !hasSecret) {
    throw invalidFields([{ path: "client_secret", message: "belongs to clients that authenticate with a secret" }]);
  }
  const secret = hasSecret ? await newSecret(env, clientId, atMs, kept) : undefined;
  try {
    await clients.create(request, client, {
      action: registersItself ? "register" : "create",
      statements: [
        clients.refuseIf(env.DB, clientId, "EXISTS (SELECT 1 FROM users WHERE sub = ?1)"),
        ...(registersItself ? [roomToRegister(env.DB, settings, client)] : []),
        ...(secret === undefined ? [] : [secret.statement]),
      ],
      // Isolates may remember that a chosen id does not exist; a newly generated id has never been looked up.
      forget: chosen === undefined ? [] : [{ kind: "client", id: clientId }],
    });
  } catch (cause) {
    if (registersItself) await requireRoomToRegister(env.DB, settings, atMs);
    throw cause;
  }
  return { client, secret: secret?.value };
}

/** A letter and 128 random bits. */
function newClientId(): string {
  return `c${randomBase64Url(16)}`;
}
