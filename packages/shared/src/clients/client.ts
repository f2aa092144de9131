import { isText, listOf, objectOf, type Stored } from "@edge-op/protocol/encoding/stored-json";
import { isPublicMethod } from "@edge-op/protocol/oauth/registered-names";
import type * as z from "zod";
import type { DocumentPolicy } from "../config/setting-values.ts";
import type { RecordedCutOff } from "../cut-offs/cut-offs.ts";
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
  /** Its SHA-256, sealed. */
  readonly sealed: string;
  /** End of the overlap after a rotation; absent while the secret is current. */
  readonly expiresAtMs: number | undefined;
}

/** `document`: not registered, identified by its metadata document. `registration`: registered itself (RFC 7591). */
export type ClientOrigin = "document" | "registration";

/** **A client**, as every Worker reads it. */
export interface Client {
  readonly clientId: string;
  readonly status: "active" | "disabled";
  readonly metadata: ClientMetadata;
  readonly secrets: readonly ClientSecret[];
  /** The way the client was registered; absent if an administrator registered it. */
  readonly origin?: ClientOrigin;
  /** For a metadata document: whether people are asked each time; never stored. */
  readonly documentPolicy?: DocumentPolicy;
  /** For a stored metadata document: until when it is fresh according to its headers. */
  readonly freshUntilMs?: number;
  /** Last use, to the day, for a client that no administrator registered. */
  readonly usedAtMs?: number;
  /** Distinguishes the client from an earlier one with the same id; absent while a metadata document is not stored. */
  readonly createdAtMs: number | undefined;
  /** Cut-offs of the client: grants from before one of them are revoked. */
  readonly cutOffs: readonly RecordedCutOff[];
}

/** Whether a client is public (RFC 6749 §2.1): it does not authenticate. */
export function isPublicClient({ metadata }: Pick<Client, "metadata">): boolean {
  return isPublicMethod(metadata.token_endpoint_auth_method);
}

/** Whether the sender of a client's requests is not assured: the client does not authenticate, or anyone may have registered it. */
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

/** A `CryptoKey` with its native key, and the JOSE library's cache entry for it. */
const importedKeyBytes = 2_048;
/** The shortest coordinate of a supported key has 43 characters, so a shorter one is never imported. */
const shortestMember = 40;
/** The text that matched a secret (callers/client-secret.ts). */
const matchedSecretBytes = 384;

/** **The memory of key sets after their keys were imported**, in addition to the sets themselves. Each key object is imported at most once. */
export function importedKeysBytes(keys: readonly JsonWebKey[]): number {
  let bytes = 0;
  for (const { n, x } of keys) if ((n ?? x ?? "").length >= shortestMember) bytes += importedKeyBytes;
  return bytes;
}

/** The bytes that an isolate may attach to a cached client: imported keys and matched secrets. */
export function attachedClientBytes({ metadata, secrets }: Client): number {
  return importedKeysBytes(metadata.jwks?.keys ?? []) + secrets.length * matchedSecretBytes;
}
