/**
 * **`/admin/keys`**: the key schedule of KeyManager. Cost: a read 1 object call; a change 2 object calls, 1 to 3 D1 calls and the calls of
 * KeyManager, which announces it to every isolate.
 */

import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { keyAlgorithms } from "@edge-op/protocol/jwt/key-algorithms";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { limits } from "@edge-op/shared/config/limits";
import { controlCallMs } from "@edge-op/shared/control/control-plane-rpc";
import { operationId, type RequestContext } from "@edge-op/shared/http/request-context";
import {
  type KeySchedule,
  keyManagerName,
  type RotateKeyResult,
  type ScheduledKey,
  stateWithin,
} from "@edge-op/shared/keys/key-schedule";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { callObject, objectStub } from "@edge-op/shared/storage/call-object";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { ManagementEnv } from "@edge-op/workers/env";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";

const path = "/keys/{kid}";
const scope = "admin:keys";

const keySchema = z
  .strictObject({
    kid: z.string(),
    alg: z.enum(keyAlgorithms),
    state: z.enum(["pending", "announced", "active", "retiring", "gone"]),
    publish_at: z.int().describe("Seconds since the epoch, like the ones below: it is in /jwks from here,"),
    sign_from: z.int().describe("signs from here (an encryption key: it is in /jwks from here),"),
    sign_until: z.int().describe("to here,"),
    retire_at: z.int().describe("and verifies (decrypts) until here."),
    public_jwk: z.record(z.string(), z.unknown()),
  })
  .meta({
    id: "SigningKey",
    examples: [
      {
        ...{ kid: "es256-2026-11-22", alg: "ES256", state: "active", publish_at: 1795000000 },
        ...{ sign_from: 1795000000, sign_until: 1797592000, retire_at: 1797678400 },
        public_jwk: {
          ...{ kty: "EC", crv: "P-256", x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU" },
          y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        },
      },
    ],
  });

function toResource(schedule: KeySchedule, key: ScheduledKey, atMs: number): z.input<typeof keySchema> {
  return {
    kid: key.kid,
    alg: key.alg,
    state: stateWithin(schedule, key, atMs),
    publish_at: toSeconds(key.publishAtMs),
    sign_from: toSeconds(key.signFromMs),
    sign_until: toSeconds(key.signUntilMs),
    retire_at: toSeconds(key.retireAtMs),
    public_jwk: { ...key.publicJwk },
  };
}

function keyManager({ env, settings }: RequestContext<ManagementEnv>) {
  return objectStub(settings, env.KEY_MANAGER, keyManagerName);
}

/** The time limit of a change: KeyManager responds after every isolate was notified. */
const changeMs = limits.objectCallMs + limits.databaseCommitMs + controlCallMs;

function readSchedule(context: RequestContext<ManagementEnv>): Promise<KeySchedule> {
  return callObject<KeySchedule>("KeyManager", () => keyManager(context).schedule());
}

const list = defineRoute({
  method: "GET",
  path: "/keys",
  operationId: "listKeys",
  summary: "Lists the signing and encryption keys and their states.",
  scope,
  response: {
    status: 200,
    description: "The keys.",
    schema: z.strictObject({ keys: z.array(keySchema) }).meta({ id: "SigningKeyList" }),
  },
  async handle({ context }) {
    const schedule = await readSchedule(context);
    return { body: { keys: schedule.keys.map((key) => toResource(schedule, key, nowMs())) } };
  },
});

const read = defineRoute({
  method: "GET",
  path,
  operationId: "readKey",
  summary: "Shows a key.",
  scope,
  response: { status: 200, description: "The key.", schema: keySchema },
  async handle({ context, parameter }) {
    const schedule = await readSchedule(context);
    const key = schedule.keys.find(({ kid }) => kid === parameter("kid"));
    if (key === undefined) throw new OAuthError("not_found", "key-not-found");
    return { body: toResource(schedule, key, nowMs()) };
  },
});

const rotate = defineRoute({
  method: "POST",
  path: "/keys",
  operationId: "rotateKey",
  summary:
    "Makes the announced successor sign as soon as every relying party can have its key, and announces another key. Existing tokens remain valid.",
  scope,
  body: z.strictObject({ alg: z.enum(keyAlgorithms) }).meta({ id: "KeyRotation" }),
  response: { status: 201, description: "The successor.", schema: keySchema, headers: ["Location"] },
  async handle(call) {
    const { settings } = call.context;
    const rotated: RotateKeyResult = await callObject<RotateKeyResult>(
      "KeyManager",
      async () => await keyManager(call.context).rotate(call.body.alg, operationId(call.context)),
      changeMs,
    );
    if (rotated.kind === "full") {
      const from = new Date(rotated.possibleFromMs).toISOString();
      const description = `Too many keys are still published. The next rotation is possible from ${from}; a key can be revoked at any time.`;
      throw new OAuthError("conflict", "keys-too-many", { detail: description, description });
    }
    const { kid } = rotated;
    await commitChange(call, {
      statements: [],
      forget: [],
      event: { action: "key.rotate", target: kid, detail: { alg: call.body.alg } },
    });
    const schedule = await readSchedule(call.context);
    const key = schedule.keys.find((candidate) => candidate.kid === kid);
    if (key === undefined) throw new OAuthError("conflict", "key-revoked");
    return { body: toResource(schedule, key, nowMs()), headers: { Location: `${settings.issuer}/admin/keys/${kid}` } };
  },
});

/** A revocation that failed half-way may be repeated: its first step is recorded even if the key is already deleted. */
async function wasRevoked(database: D1Database, kid: string): Promise<boolean> {
  const row = await queryDatabase(() =>
    database
      .prepare("SELECT 1 FROM admin_events WHERE action = 'key.revoke' AND target = ?1 LIMIT 1")
      .bind(kid)
      .first(),
  );
  return row !== null;
}

const revoke = defineRoute({
  method: "DELETE",
  path,
  operationId: "revokeKey",
  summary: "Revokes a key immediately: when the call returns, nothing signed by it is accepted anywhere.",
  scope,
  response: { status: 204, description: "The key is revoked." },
  async handle(call) {
    const { env } = call.context;
    const kid = call.parameter("kid");
    const known = (await readSchedule(call.context)).keys.some((key) => key.kid === kid);
    if (!known && !(await wasRevoked(env.DB, kid))) throw new OAuthError("not_found", "key-not-found");
    await commitChange(call, { statements: [], forget: [], event: { action: "key.revoke", target: kid } });
    await callObject<{ readonly kind: string }>(
      "KeyManager",
      () => keyManager(call.context).revokeKey(kid, operationId(call.context)),
      changeMs,
    );
    await commitChange(call, { statements: [], forget: [], event: { action: "key.revoked", target: kid } });
    return { body: undefined };
  },
});

export const keyRoutes: readonly AdminRoute[] = [list, read, rotate, revoke];
