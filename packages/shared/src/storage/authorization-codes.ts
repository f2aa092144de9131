import { operationId } from "../http/operation-id.ts";
import type { RequestContext } from "../http/request-context.ts";
import { macText, verifyMac } from "../keys/mac.ts";
import type { MasterKeyBindings } from "../keys/master-key.ts";
import { encodeBase64Url, randomBase64Url, sha256 } from "../oauth/bytes.ts";
import type { ClaimsRequest } from "../oauth/claims-request.ts";
import { nowMs } from "../oauth/clock.ts";
import { UnavailableError } from "../oauth/errors.ts";
import type { GrantRevocation } from "../revocation/grant-revocation.ts";
import { askObject, shardStub } from "../sharding/ask-object.ts";
import { type GrantIdentity, grantEndsAtMs } from "../sharding/new-grant.ts";
import { formatOpaqueId, parseOpaqueId, type ShardAddress } from "../sharding/shard-address.ts";
import type { ShardMap } from "../sharding/shard-map.ts";
import type { StorageBindings } from "./read-through.ts";

/**
 * **Authorization codes**: `ac.g{gen}.{region}.{shard}.{random id and MAC}`, alive for a minute, redeemed once. The object verifies
 * before it spends: a wrong client, `redirect_uri` or verifier never burns a code. A second redemption by who holds
 * everything the first one needed ends the grant. Cost: issue 1 object call, redeem 1.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.5
 */
export interface AuthorizationCodePayload {
  readonly grant: GrantIdentity;
  readonly clientId: string;
  /** As given in the authorization request; compared byte for byte. */
  readonly redirectUri: string;
  /** S256 challenge (RFC 7636 §4.2); absent only for clients that may leave PKCE out. */
  readonly codeChallenge: string | undefined;
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  readonly nonce: string | undefined;
  readonly sub: string;
  /** What `sub` this client is shown instead (OIDC Core §8.1). */
  readonly pairwiseSub: string | undefined;
  readonly username: string | undefined;
  readonly sid: string | undefined;
  readonly authTimeSeconds: number | undefined;
  readonly acr: string | undefined;
  readonly amr: readonly string[] | undefined;
  readonly claims: ClaimsRequest | undefined;
  /** Whether the exchange also starts a refresh family: `offline_access` as OIDC Core §11 says, decided at /authorize. */
  readonly refreshable: boolean;
}

/** What a redemption presents. The client is authenticated before. */
export interface PresentedCode {
  readonly clientId: string;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
  /** Narrowed resources asked for (RFC 8707 §2.2); `undefined` = all that were authorized. */
  readonly resources: readonly string[] | undefined;
}

export type RedeemOutcome =
  | { readonly kind: "redeemed"; readonly payload: AuthorizationCodePayload }
  /** Used before: the caller revokes the grant before it answers; the object does so too, until a shard has acknowledged. */
  | { readonly kind: "replayed"; readonly revocation: GrantRevocation }
  /** Unknown, expired, or not what the code is bound to: nothing was changed. `reason` is for the log. */
  | { readonly kind: "invalid_grant" | "invalid_target"; readonly reason: string };

export interface RedeemRequest {
  readonly id: string;
  readonly clientId: string;
  readonly redirectUri: string | undefined;
  /** S256 of the presented verifier. */
  readonly codeChallenge: string | undefined;
  readonly resources: readonly string[] | undefined;
  /** One redemption, however often its call is sent: a lost reply is not a replay. */
  readonly operationId: string;
}

/** What an `AuthorizationCodeStore` shard answers over RPC. */
export interface AuthorizationCodeStoreRpc extends Rpc.DurableObjectBranded {
  /** Idempotent by id. `grantEndsAtMs`: when all that the code can issue has expired. */
  put(id: string, payload: AuthorizationCodePayload, expiresAtMs: number, grantEndsAtMs: number): Promise<void>;
  redeem(request: RedeemRequest): Promise<RedeemOutcome>;
}

export interface AuthorizationCodeBindings extends StorageBindings, MasterKeyBindings {
  readonly AUTHORIZATION_CODE_STORE: DurableObjectNamespace<AuthorizationCodeStoreRpc>;
}

/** RFC 6749 §4.1.2 recommends ten minutes at most; a redirect takes seconds. */
export const codeLifetimeMs = 60_000;

/** 128 bits nobody guesses; the MAC behind them lets a forged code cost no I/O and steer none. */
const idBytes = 16;
const idCharacters = 22;

async function readCode(
  env: MasterKeyBindings,
  code: string,
): Promise<{ readonly address: ShardAddress; readonly id: string } | undefined> {
  const parsed = parseOpaqueId("ac", code);
  if (parsed === undefined) return undefined;
  const { address, random } = parsed;
  const id = random.slice(0, idCharacters);
  const ours = await verifyMac(env, "code-mac", formatOpaqueId("ac", address, id), random.slice(idCharacters));
  return ours ? { address, id } : undefined;
}

export class AuthorizationCodes {
  readonly #shardMap: ShardMap;

  constructor(shardMap: ShardMap) {
    this.#shardMap = shardMap;
  }

  /** Stores what was authorized and returns the code to send to the client. */
  async issue(context: RequestContext<AuthorizationCodeBindings>, payload: AuthorizationCodePayload): Promise<string> {
    const id = randomBase64Url(idBytes);
    const address = await this.#shardMap.place(context, "code", id);
    const expiresAtMs = nowMs() + codeLifetimeMs;
    const endsAtMs = grantEndsAtMs(context.settings, payload.grant.grantCreatedAtMs);
    const stub = await this.#stub(context, address);
    if (stub === undefined) throw new UnavailableError("code", new Error("placed outside the generation table"));
    await askObject("code", () => stub.put(id, payload, expiresAtMs, endsAtMs));
    const mac = await macText(context.env, "code-mac", formatOpaqueId("ac", address, id));
    return formatOpaqueId("ac", address, id + mac);
  }

  async redeem(
    context: RequestContext<AuthorizationCodeBindings>,
    code: string,
    presented: PresentedCode,
  ): Promise<RedeemOutcome> {
    const id = await readCode(context.env, code);
    const stub = id && (await this.#stub(context, id.address));
    if (id === undefined || stub === undefined) return { kind: "invalid_grant", reason: "not a code of ours" };
    const { codeVerifier, ...bound } = presented;
    const request: RedeemRequest = {
      ...bound,
      id: id.id,
      codeChallenge: codeVerifier === undefined ? undefined : encodeBase64Url(await sha256(codeVerifier)),
      operationId: operationId(context),
    };
    return askObject<RedeemOutcome>("code", async () => stub.redeem(request));
  }

  /** `undefined` for an address outside the generation table: no object is created for it (G1). */
  async #stub(context: RequestContext<AuthorizationCodeBindings>, address: ShardAddress) {
    const region = await this.#shardMap.locate(context, "code", address);
    return region && shardStub(context.env.AUTHORIZATION_CODE_STORE, "code", address, region);
  }
}
