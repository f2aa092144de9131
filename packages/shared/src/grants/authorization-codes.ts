import { encodeBase64Url, randomBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { operationId } from "../http/operation-id.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { macText, verifyMac } from "../secrets/mac.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { callObject, shardStub } from "../storage/call-object.ts";
import type { StorageBindings } from "../storage/read-through.ts";
import { formatOpaqueId, parseOpaqueId, type ShardAddress } from "../storage/shard-address.ts";
import type { ShardMap } from "../storage/shard-map.ts";
import type {
  AuthorizationCodePayload,
  AuthorizationCodeStoreRpc,
  PresentedCode,
  RedeemRequest,
  RedeemResult,
} from "./authorization-code-rpc.ts";

export interface AuthorizationCodeBindings extends StorageBindings, MasterKeyBindings {
  readonly AUTHORIZATION_CODE_STORE: DurableObjectNamespace<AuthorizationCodeStoreRpc>;
}

/** RFC 6749 §4.1.2 recommends ten minutes at most; a redirect takes seconds. */
export const codeLifetimeMs = 60_000;

/** 128 random bits. The code also contains a MAC, so that a forged code is refused without I/O. */
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

/**
 * **Authorization codes**: `ac.g{gen}.{region}.{shard}.{random id and MAC}`, valid for a minute, redeemed once. The object verifies before it
 * redeems, so a wrong client, `redirect_uri` or verifier does not spend the code. A second redemption that meets every condition of the first revokes
 * the grant. Cost: issue 1 object call, redeem 1.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.5
 */
export class AuthorizationCodes {
  readonly #shardMap: ShardMap;

  constructor(shardMap: ShardMap) {
    this.#shardMap = shardMap;
  }

  /** Stores the authorization and returns the code for the client. */
  async issue(context: RequestContext<AuthorizationCodeBindings>, payload: AuthorizationCodePayload): Promise<string> {
    const id = randomBase64Url(idBytes);
    const address = await this.#shardMap.place(context, "code", id);
    const expiresAtMs = nowMs() + codeLifetimeMs;
    const stub = await this.#stub(context, address);
    if (stub === undefined) throw new UnavailableError("code", new Error("placed outside the generation table"));
    await callObject("code", () => stub.put(id, payload, expiresAtMs, payload.grantEndsAtMs));
    const mac = await macText(context.env, "code-mac", formatOpaqueId("ac", address, id));
    return formatOpaqueId("ac", address, id + mac);
  }

  async redeem(
    context: RequestContext<AuthorizationCodeBindings>,
    code: string,
    presented: PresentedCode,
  ): Promise<RedeemResult> {
    const id = await readCode(context.env, code);
    const stub = id && (await this.#stub(context, id.address));
    if (id === undefined || stub === undefined) return { kind: "invalid_grant", reason: "code-invalid" };
    const { codeVerifier, ...bound } = presented;
    const request: RedeemRequest = {
      ...bound,
      id: id.id,
      codeChallenge: codeVerifier === undefined ? undefined : encodeBase64Url(await sha256(codeVerifier)),
      operationId: operationId(context),
      origin: { address: context.network, requestId: context.requestId },
    };
    return callObject<RedeemResult>("code", async () => stub.redeem(request));
  }

  /** `undefined` for an address outside the generation table: no object is created for it (G1). */
  async #stub(context: RequestContext<AuthorizationCodeBindings>, address: ShardAddress) {
    const region = await this.#shardMap.locate(context, "code", address);
    return region && shardStub(context.settings, context.env.AUTHORIZATION_CODE_STORE, "code", address, region);
  }
}
