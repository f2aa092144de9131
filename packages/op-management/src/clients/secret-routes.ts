import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { usesSecret } from "@edge-op/protocol/oauth/registered-names";
import { nowMs } from "@edge-op/shared/runtime/clock";
import * as z from "zod";
import { refuseOwn } from "../admin/actor.ts";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { requireAuthorityOver } from "./client-authority.ts";
import { clients } from "./client-table.ts";
import {
  deleteEndedSecrets,
  deleteSecret,
  endSecrets,
  limitSecrets,
  listSecrets,
  newSecret,
  type StoredSecret,
} from "./secret-store.ts";

const path = "/clients/{client_id}/secrets";
const scope = "admin:clients";

const rotatesItself =
  "its only secret would be in a response that may be lost. Give overlap_seconds, and delete the earlier secret with a token of the new one.";

/** Each secret is compared at every authentication of the client. */
const mostSecrets = 5;

const example = { secret_id: "s4mVbYH3fL1q", created_at: 1795000000, client_secret_expires_at: 0 };

const secretSchema = z
  .strictObject({
    secret_id: z.string(),
    created_at: z.int().describe("Seconds since the epoch."),
    client_secret_expires_at: z.int().describe("Seconds since the epoch; 0: it does not expire."),
  })
  .meta({ id: "ClientSecret", examples: [example] });

const newSecretSchema = secretSchema
  .extend({ client_id: z.string(), client_secret: z.string().describe("Shown only once.") })
  .meta({
    id: "NewClientSecret",
    examples: [{ ...example, client_id: "photos", client_secret: "vLhc4RgJ8w3oQKXz2b0mYfE6TtNsUaD1pIqWx9VjHkM" }],
  });

const rotationSchema = z
  .strictObject({
    overlap_seconds: z
      .int()
      .min(0)
      .max(90 * 86_400)
      .default(0)
      .describe("How long the existing secrets keep working, in seconds; 0: they stop immediately."),
  })
  .meta({ id: "SecretRotation" });

function show({ id, createdAtMs, expiresAtMs }: StoredSecret) {
  const expiresAt = expiresAtMs === undefined ? 0 : toSeconds(expiresAtMs);
  return { secret_id: id, created_at: toSeconds(createdAtMs), client_secret_expires_at: expiresAt };
}

const list = defineRoute({
  method: "GET",
  path,
  operationId: "listClientSecrets",
  summary: "Lists the live secrets of a client, without their values.",
  scope,
  response: {
    status: 200,
    description: "The live secrets.",
    schema: z.strictObject({ secrets: z.array(secretSchema) }).meta({ id: "ClientSecretList" }),
  },
  async handle({ context, parameter }) {
    const { clientId } = await clients.require(context.env.DB, parameter("client_id"));
    const secrets = await listSecrets(context.env.DB, clientId, nowMs());
    return { body: { secrets: secrets.map(show) } };
  },
});

const read = defineRoute({
  method: "GET",
  path: `${path}/{secret_id}`,
  operationId: "readClientSecret",
  summary: "Shows a live secret of a client, without its value.",
  scope,
  response: { status: 200, description: "The secret.", schema: secretSchema },
  async handle({ context, parameter }) {
    const { clientId } = await clients.require(context.env.DB, parameter("client_id"));
    const secrets = await listSecrets(context.env.DB, clientId, nowMs());
    const secret = secrets.find(({ id }) => id === parameter("secret_id"));
    if (secret === undefined) throw new OAuthError("not_found", "secret-not-found");
    return { body: show(secret) };
  },
});

const rotate = defineRoute({
  method: "POST",
  path,
  operationId: "rotateClientSecret",
  summary:
    "Gives a client a new secret. Its existing secrets end after the overlap. In force everywhere when the call returns.",
  scope,
  body: rotationSchema,
  response: { status: 201, description: "The new secret.", schema: newSecretSchema, headers: ["Location"] },
  async handle(call) {
    const { env, settings } = call.context;
    const { clientId, metadata } = await clients.require(env.DB, call.parameter("client_id"));
    requireAuthorityOver(call.actor, metadata, call.context.settings.issuer);
    if (!usesSecret(metadata.token_endpoint_auth_method)) {
      const description = `A client with token_endpoint_auth_method ${metadata.token_endpoint_auth_method} has no secret.`;
      throw new OAuthError("invalid_request", "client-without-secrets", { description });
    }
    const atMs = nowMs();
    const overlap = call.body.overlap_seconds;
    if (overlap === 0 && call.actor.clientId === clientId) throw refuseOwn(rotatesItself);
    const requireRoom = async () => {
      if (overlap === 0 || (await listSecrets(env.DB, clientId, atMs)).length < mostSecrets) return;
      const description = `The client has ${mostSecrets} live secrets. Delete one, or rotate without overlap.`;
      throw new OAuthError("conflict", "secrets-too-many", { description });
    };
    await requireRoom();
    const secret = await newSecret(env, clientId, atMs);
    const commit = commitChange(call, {
      statements: [
        endSecrets(env.DB, clientId, atMs + overlap * 1000),
        deleteEndedSecrets(env.DB, clientId, atMs),
        secret.statement,
        limitSecrets(env.DB, clientId, atMs, mostSecrets),
      ],
      forget: [{ kind: "client", id: clientId }],
      event: { action: "secret.rotate", target: clientId, detail: { secret_id: secret.id, overlap_seconds: overlap } },
    });
    // A client that was deleted meanwhile cannot have a secret: the reference of the row fails. Others may have been created meanwhile.
    await commit.catch(async (cause) => {
      await clients.require(env.DB, clientId);
      await requireRoom();
      throw cause;
    });
    return {
      body: {
        client_id: clientId,
        secret_id: secret.id,
        client_secret: secret.value,
        created_at: toSeconds(atMs),
        client_secret_expires_at: 0,
      },
      headers: { Location: `${settings.issuer}/admin/clients/${clientId}/secrets/${secret.id}` },
    };
  },
});

const remove = defineRoute({
  method: "DELETE",
  path: `${path}/{secret_id}`,
  operationId: "deleteClientSecret",
  summary: "Ends one secret immediately. In force everywhere when the call returns.",
  scope,
  response: { status: 204, description: "The secret is deleted." },
  async handle(call) {
    const database = call.context.env.DB;
    const { clientId, metadata } = await clients.require(database, call.parameter("client_id"));
    requireAuthorityOver(call.actor, metadata, call.context.settings.issuer);
    const id = call.parameter("secret_id");
    const secrets = await listSecrets(database, clientId, nowMs());
    if (!secrets.some((secret) => secret.id === id)) throw new OAuthError("not_found", "secret-not-found");
    const isLast = secrets.length === 1 && usesSecret(metadata.token_endpoint_auth_method);
    if (isLast && call.actor.clientId === clientId) throw refuseOwn(`it is the only secret of ${clientId}`);
    await commitChange(call, {
      statements: [deleteSecret(database, clientId, id)],
      forget: [{ kind: "client", id: clientId }],
      event: { action: "secret.delete", target: clientId, detail: { secret_id: id } },
    });
    return { body: undefined };
  },
});

/**
 * **`/admin/clients/{client_id}/secrets`**: a client can have several live secrets, so that it can be moved from one to the next without an
 * interruption. Cost: a rotation 3 D1 and the control plane's round.
 */
export const secretRoutes: readonly AdminRoute[] = [list, read, rotate, remove];
