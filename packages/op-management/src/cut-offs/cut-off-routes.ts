/**
 * **`POST /admin/revocations`**: revokes a token, a grant, or every grant of a user or client. The revocation is in force everywhere when it
 * responds. Cost: 1 D1 call and 1 object call, for a grant also 1 D1 call and one per region and live generation of refresh shards; for a user or
 * client, the control plane's calls of the live shards; for a user or everything 1 D1 call, so that ended grants are not listed.
 */

import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { longestToken } from "@edge-op/protocol/jwt/decode-claims";
import { clientIdPattern } from "@edge-op/shared/clients/client-schema";
import { longestTokenLifetimeSeconds } from "@edge-op/shared/config/settings";
import { controlPlane } from "@edge-op/shared/control/commit-control-change";
import { controlCallMs } from "@edge-op/shared/control/control-plane-rpc";
import type { CutOffKind } from "@edge-op/shared/cut-offs/cut-offs";
import { revokeAtPlaces } from "@edge-op/shared/endings/endings";
import { latestGrantEndMs } from "@edge-op/shared/grants/grant";
import { type GrantPlace, grantKey, requestsAt, rowUntilMs, tokenKey } from "@edge-op/shared/grants/grant-revocation";
import { operationId } from "@edge-op/shared/http/request-context";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { defaultTenant } from "@edge-op/shared/leases/revocation-subject";
import { type RefreshToken, readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { callObject } from "@edge-op/shared/storage/call-object";
import { formatTokenId, parseTokenId, type TokenId } from "@edge-op/shared/storage/shard-address";
import { readAccessToken } from "@edge-op/shared/tokens/access-token";
import { forgetAllOfflineGrants } from "@edge-op/shared/users/offline-grants";
import * as z from "zod";
import { type ActorRequest, requireOtherParty, requireOtherSubject } from "../admin/actor.ts";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { subPattern } from "../users/user-schema.ts";

const names = ["token", "jti", "grant_id", "sub", "client_id"] as const;

const requestSchema = z
  .strictObject({
    token: z
      .string()
      .min(1)
      .max(longestToken)
      .optional()
      .describe(
        "A live access token: revokes it and the tokens exchanged from it. A refresh token: revokes its entire grant.",
      ),
    jti: z
      .string()
      .max(512)
      .optional()
      .describe("The `jti` of an access token: revokes it and the tokens exchanged from it."),
    grant_id: z
      .string()
      .max(512)
      .optional()
      .describe(
        "The `jti` of any token of the grant, or its part before the last dot: revokes the grant and all tokens derived from it.",
      ),
    sub: z.string().regex(subPattern, "is not a sub").optional().describe("Every grant given by a user up to now."),
    client_id: z
      .string()
      .regex(clientIdPattern, "is not a client id")
      .optional()
      .describe("Every grant of a client up to now."),
  })
  .refine((request) => names.filter((name) => request[name] !== undefined).length === 1, {
    error: `must have exactly one of ${names.join(", ")}`,
  })
  .meta({ id: "RevocationRequest", minProperties: 1, maxProperties: 1 });

const revocationSchema = z
  .strictObject({
    kind: z.enum(["token", "grant", "sub", "client", "everything"]),
    id: z.string().describe("The revoked item: a jti, a grant id with its shard, a sub, a client id, or the issuer."),
    revoked_at: z.int().describe("Seconds since the epoch."),
  })
  .meta({ id: "Revocation", examples: [{ kind: "sub", id: "u1cLmU5bGqTzqyG9bqk8Xyg", revoked_at: 1795000000 }] });

type Request = z.output<typeof requestSchema>;
type Call = AdminCall<Request, unknown>;

/** The revocation of a token or a grant; a refresh token also ends its family. */
interface ShardRevocation {
  readonly kind: "token" | "grant";
  readonly tokenId: TokenId;
  readonly untilMs: number;
  readonly refreshToken?: RefreshToken;
}

function unknownId(path: string, message: string): Error {
  return invalidFields([{ path, message }]);
}

/** The `random` part of an id that names a whole grant. */
const noToken = "any";

/** Revokes only the access token, or the whole grant of a refresh token. */
async function findByToken({ context, isolate }: Call, token: string): Promise<ShardRevocation | undefined> {
  const refreshToken = await readRefreshToken(context, token);
  if (refreshToken !== undefined) {
    const { grant } = refreshToken;
    const untilMs = latestTokenEndMs(context.arrivedAtMs);
    return { kind: "grant", tokenId: { ...grant, random: noToken }, untilMs, refreshToken };
  }
  const accessToken = await readAccessToken(context, isolate, token);
  if (accessToken === undefined) return undefined;
  return {
    kind: "token",
    tokenId: accessToken.id,
    untilMs: rowUntilMs(accessToken.expiresAtSeconds * 1000),
  };
}

/** Until when the row of a token is needed of which only the id is known. */
function latestTokenEndMs(nowMs: number): number {
  return rowUntilMs(nowMs + longestTokenLifetimeSeconds * 1000);
}

/** `undefined` for a revocation by subject or client, which affects every shard. */
async function findOnShard(call: Call): Promise<ShardRevocation | undefined> {
  const { context, body } = call;
  if (body.token !== undefined) {
    const found = await findByToken(call, body.token);
    if (found === undefined) throw unknownId("token", "is not a live token of this provider");
    return found;
  }
  if (body.jti !== undefined) {
    const tokenId = parseTokenId(body.jti);
    if (tokenId === undefined) throw unknownId("jti", "is not the jti of an access token");
    return { kind: "token", tokenId, untilMs: latestTokenEndMs(context.arrivedAtMs) };
  }
  if (body.grant_id !== undefined) {
    const tokenId = parseTokenId(body.grant_id) ?? parseTokenId(`${body.grant_id}.${noToken}`);
    if (tokenId === undefined) throw unknownId("grant_id", "is not a grant id with its shard, nor a jti");
    return { kind: "grant", tokenId, untilMs: latestGrantEndMs(context.arrivedAtMs) };
  }
  return undefined;
}

/** Ends the family of a grant first: it issues no token after that, and knows the places of those that it has issued (ADR 16). */
async function findPlaces(
  { context, isolate }: Call,
  { kind, tokenId: { grantId, address }, untilMs, refreshToken }: ShardRevocation,
): Promise<readonly GrantPlace[]> {
  const { refreshFamilies } = isolate;
  const named = [{ address, untilMs }];
  if (kind === "token") return named;
  if (refreshToken !== undefined)
    return (await refreshFamilies.kill(context, refreshToken, "revoked by an administrator")) ?? named;
  const revocation = { grant: { grantId, address }, clientId: "", reason: "administrator", untilMs } as const;
  const tokensEndAtMs = context.arrivedAtMs + longestTokenLifetimeSeconds * 1000;
  return (await refreshFamilies.endWherever(context, revocation, tokensEndAtMs)).places;
}

/** An unverified id must not create an object for a shard outside the table (G1). A grant whose first generation was retired may have moved. */
async function requireKnownShard({ context, isolate, body }: Call, { kind, tokenId }: ShardRevocation): Promise<void> {
  if (body.token !== undefined) return;
  const { shardMap } = isolate;
  if ((await shardMap.locateUnverified(context, "revocation", tokenId.address)) !== undefined) return;
  const table = await shardMap.table(context);
  if (kind === "grant" && table.isRetired("revocation", tokenId.address.generation)) return;
  const field = names.find((name) => body[name] !== undefined) ?? "";
  throw unknownId(field, "names a shard that does not exist");
}

async function revokeOnShard(call: Call, revocation: ShardRevocation): Promise<string> {
  const { context, isolate, actor } = call;
  const { kind, tokenId } = revocation;
  const jti = formatTokenId(tokenId);
  const id = kind === "token" ? jti : jti.slice(0, jti.lastIndexOf("."));
  await requireKnownShard(call, revocation);
  await commitChange(call, { statements: [], forget: [], event: { action: `${kind}.revoke`, target: id } });
  const named = kind === "token" ? { jti } : { grant_id: tokenId.grantId };
  const request = {
    key: kind === "token" ? tokenKey(jti) : grantKey(tokenId.grantId),
    operationId: operationId(context),
    event: { type: `${kind}.revoked`, payload: { ...named, actor: actor.sub, reason: "administrator" } },
  };
  await revokeAtPlaces(context, isolate, requestsAt(await findPlaces(call, revocation), request, nowMs()));
  return id;
}

const revoke = defineRoute({
  method: "POST",
  path: "/revocations",
  operationId: "revoke",
  summary: "Revokes a token, a grant, or every grant of a user or client. In force everywhere when the call returns.",
  scope: "admin:tokens",
  body: requestSchema,
  response: { status: 200, description: "The revocation.", schema: revocationSchema },
  async handle(call) {
    const { sub, client_id: clientId } = call.body;
    const revokedAt = toSeconds(call.context.arrivedAtMs);
    const onShard = await findOnShard(call);
    if (onShard !== undefined) {
      return { body: { kind: onShard.kind, id: await revokeOnShard(call, onShard), revoked_at: revokedAt } };
    }
    const [kind, id] = sub === undefined ? (["client", clientId!] as const) : (["sub", sub] as const);
    if (kind === "client") requireOtherParty(call.actor, id);
    else requireOtherSubject(call.actor, id);
    const notice = kind === "sub" ? { sub: id, kind: "access-ended-by-administrator" as const } : undefined;
    await commitChange(call, { statements: [], forget: [], event: { action: `${kind}.cut-off`, target: id }, notice });
    await cutOff(call, kind, id);
    return { body: { kind, id, revoked_at: revokedAt } };
  },
});

/**
 * Its own scope, because it signs everybody out. The token of the call ends too; its client or person gets another one. ControlPlane tells the
 * applications in the background.
 */
const revokeAll = defineRoute({
  method: "POST",
  path: "/revocations/everything",
  operationId: "revokeEverything",
  summary:
    "Revokes every token, grant and session of this deployment, that of the call included. In force everywhere when the call returns. Credentials stay: passwords, passkeys, client secrets, keys, consents.",
  scope: "admin:revoke-all",
  body: z
    .strictObject({ confirm: z.string().max(512).describe("The issuer of this deployment, as a confirmation.") })
    .meta({ id: "RevocationOfEverything" }),
  response: { status: 200, description: "The revocation.", schema: revocationSchema },
  async handle(call) {
    const { issuer } = call.context.settings;
    if (call.body.confirm !== issuer) throw unknownId("confirm", `must be ${issuer}`);
    await commitChange(call, {
      statements: [],
      forget: [],
      event: { action: "deployment.cut-off", target: issuer },
    });
    await cutOff(call, "tenant", defaultTenant);
    await forgetAllOfflineGrants(call.context.env.DB);
    return { body: { kind: "everything" as const, id: issuer, revoked_at: toSeconds(call.context.arrivedAtMs) } };
  },
});

export const revocationRoutes: readonly AdminRoute[] = [revoke, revokeAll];

/** **Revokes every grant of a user or client** created up to now; resolves when the cut-off is in force everywhere. Cost: 1 object call. */
async function cutOff({ context, actor }: ActorRequest, kind: CutOffKind, id: string): Promise<void> {
  const request = { kind, id, operationId: operationId(context), actor: actor.sub };
  await callObject("control plane", () => controlPlane(context).cutOff(request), controlCallMs);
}
