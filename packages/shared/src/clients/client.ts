import type { Stored } from "@edge-op/protocol/encoding/json-object";
import { isText, listOf, objectOf } from "@edge-op/protocol/encoding/stored-json";
import { isPublicMethod } from "@edge-op/protocol/oauth/client-auth-methods";
import type * as z from "zod";
import type { DocumentPolicy } from "../config/document-policies.ts";
import type { RecordedCutOff } from "../control/cut-offs.ts";
import type { metadataSchema } from "./client-schema.ts";

/** The RFC 7591 document in its own spelling, with the extensions of this provider, as stored in D1 and shown by the admin API. */
export type ClientMetadata = Stored<z.output<typeof metadataSchema>>;

export const isClientMetadata = objectOf<ClientMetadata>({
  token_endpoint_auth_method: isText,
  grant_types: listOf(isText<ClientMetadata["grant_types"][number]>),
  response_types: listOf(isText<ClientMetadata["response_types"][number]>),
  redirect_uris: listOf(isText),
  scope: isText,
  audiences: listOf(isText),
});

export type TokenExchangePolicy = NonNullable<ClientMetadata["token_exchange"]>;
export type JwtBearerPolicy = NonNullable<ClientMetadata["jwt_bearer"]>;
export type IdJagTarget = NonNullable<ClientMetadata["id_jag_targets"]>[number];

export interface ClientSecret {
  readonly id: string;
  /** HMAC-SHA-256 under the pepper, base64url. */
  readonly mac: string;
  /** End of its overlap after a rotation; absent while it is current. */
  readonly expiresAtMs: number | undefined;
}

/** `document`: nobody has registered it, it is known by its metadata document. `registration`: it registered itself (RFC 7591). */
export type ClientOrigin = "document" | "registration";

/** **A client**, as every Worker reads it. */
export interface Client {
  readonly clientId: string;
  readonly status: "active" | "disabled";
  readonly metadata: ClientMetadata;
  readonly secrets: readonly ClientSecret[];
  /** Who has registered it; an administrator if absent. */
  readonly origin?: ClientOrigin;
  /** Of a metadata document: whether people are asked each time; never stored. */
  readonly documentPolicy?: DocumentPolicy;
  /** Of a stored metadata document: until when it is as fresh as its headers say. */
  readonly freshUntilMs?: number;
  /** Last use, to the day, of a client that no administrator registered. */
  readonly usedAtMs?: number;
  /** Distinguishes it from an earlier client of the same id; absent while a metadata document is not stored. */
  readonly createdAtMs: number | undefined;
  /** What was granted to the client before one of them is revoked. */
  readonly cutOffs: readonly RecordedCutOff[];
}

/** Whether a client is public (RFC 6749 §2.1): it does not authenticate. */
export function isPublicClient({ metadata }: Pick<Client, "metadata">): boolean {
  return isPublicMethod(metadata.token_endpoint_auth_method);
}

/** Whether nothing assures who sends a client's requests: it does not authenticate, or anyone may have registered it. */
export function canBeAnyone(client: Pick<Client, "metadata" | "origin">): boolean {
  return isPublicClient(client) || client.origin !== undefined;
}

/** The scope values that a client registered. */
export function registeredScope({ metadata }: Pick<Client, "metadata">): readonly string[] {
  return metadata.scope === "" ? [] : metadata.scope.split(" ");
}

/** Whether a policy list allows a value: it names it, or is exactly `["*"]`. */
export function listAllows(list: readonly string[], value: string): boolean {
  return list.includes(value) || (list.length === 1 && list[0] === "*");
}
