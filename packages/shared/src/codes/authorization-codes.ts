import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { type GrantRevocation, rowUntilMs } from "../grants/grant-revocation.ts";
import { operationId, type RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { callObject, shardStub } from "../storage/call-object.ts";
import type { ChallengeBindings, Challenges } from "../storage/challenges.ts";
import type { ShardMap } from "../storage/shard-map.ts";
import {
  type AuthorizationCodePayload,
  type AuthorizationCodeStoreRpc,
  codeTokensEndAtMs,
  type SpendRequest,
  type SpendResult,
  spentMemoryMs,
} from "./authorization-code-rpc.ts";
import { type OpenCode, openCode, sealCode } from "./sealed-code.ts";

export interface AuthorizationCodeBindings extends ChallengeBindings, MasterKeyBindings {
  readonly AUTHORIZATION_CODE_STORE: DurableObjectNamespace<AuthorizationCodeStoreRpc>;
}

type CodeContext = RequestContext<AuthorizationCodeBindings>;

/** RFC 6749 §4.1.2 recommends ten minutes at most; a redirect takes seconds. */
const codeLifetimeMs = 60_000;
/** Characters; a typical code has about 700. With a redirect URI and `state` of usual length the URL stays below 2 KB. */
export const longestCode = 1_280;

/**
 * **Authorization codes**, valid for a minute, spent once: nothing is stored before a code is redeemed, because it contains what was authorized. One
 * that would be too long for a URL (long `claims`, authorization details) is stored as a challenge, whose id is the code. The caller verifies what
 * the code is bound to before it spends it, so a wrong client, `redirect_uri` or verifier does not. A second redemption revokes the grant. Cost:
 * issue 0 calls, spend 1 object call; for a stored code each 1 more.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.5
 */
export class AuthorizationCodes {
  readonly #shardMap: ShardMap;
  readonly #challenges: Pick<Challenges, "put" | "peek">;

  constructor(shardMap: ShardMap, challenges: Pick<Challenges, "put" | "peek">) {
    this.#shardMap = shardMap;
    this.#challenges = challenges;
  }

  /** The code for the client. */
  async issue(context: CodeContext, payload: AuthorizationCodePayload): Promise<string> {
    const id = randomBase64Url(16);
    const address = await this.#shardMap.place(context, "code", id);
    const expiresAtMs = nowMs() + codeLifetimeMs;
    const code = await sealCode(context.env, { address, id, expiresAtMs, payload });
    if (code.length <= longestCode) return code;
    // For as long as the code can be presented again.
    return this.#challenges.put(context, "authorization-code", code, expiresAtMs + spentMemoryMs);
  }

  /** `undefined` for a text that is not a code of this provider. */
  async open(context: CodeContext, code: string): Promise<OpenCode | undefined> {
    const text = code.startsWith("ch.") ? await this.#challenges.peek(context, "authorization-code", code) : code;
    return text === undefined ? undefined : openCode(context.env, text);
  }

  /** Spends a code whose client and proofs of possession the caller has verified. */
  async spend(
    context: CodeContext,
    { address, id, expiresAtMs, payload }: OpenCode,
    { refusal, isUnchecked }: Pick<SpendRequest, "refusal" | "isUnchecked">,
  ): Promise<SpendResult> {
    const stub = await this.#stub(context, address);
    // Its generation has been retired: every code of it has expired.
    if (stub === undefined) return { kind: "invalid_grant", reason: "code-expired" };
    const request: SpendRequest = {
      ...{ id, expiresAtMs, refusal, isUnchecked },
      revocation: replayRevocation(payload),
      redeemed: redeemedBy(payload),
      operationId: operationId(context),
      origin: { address: context.network, requestId: context.requestId },
    };
    return callObject<SpendResult>("code", async () => stub.spend(request));
  }

  /**
   * Undoes the spending of a code with `isUnchecked`, because its request may not be granted. If the shard does not respond, the code stays spent, as
   * if the response had been lost. Cost: 1 object call.
   */
  async takeBack(context: CodeContext, { address, id, payload }: OpenCode): Promise<void> {
    try {
      const stub = await this.#stub(context, address);
      const request = { id, operationId: operationId(context), redeemed: redeemedBy(payload) };
      await callObject("code", async () => stub?.takeBack(request));
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      const { grantId } = payload.grant;
      log("code-not-taken-back", { grantId, cause: String(error.cause), requestId: context.requestId });
    }
  }

  /** `undefined` for an address outside the generation table: no object is created for it (G1). */
  async #stub(context: CodeContext, address: OpenCode["address"]) {
    const region = await this.#shardMap.locate(context, "code", address);
    return region && shardStub(context.settings, context.env.AUTHORIZATION_CODE_STORE, "code", address, region);
  }
}

function redeemedBy({ grant, clientId, sub, scope }: AuthorizationCodePayload): SpendRequest["redeemed"] {
  return { grant, clientId, sub, scope };
}

function replayRevocation(payload: AuthorizationCodePayload): GrantRevocation {
  const { grant, clientId, refreshable, familyAddress: address, tokenLifetimeSeconds, grantEndsAtMs } = payload;
  const revocation = { grant, clientId, reason: "code_replayed" } as const;
  const tokensEndAtMs = codeTokensEndAtMs(grant.grantCreatedAtMs, tokenLifetimeSeconds);
  return refreshable
    ? { ...revocation, untilMs: grantEndsAtMs, family: { address, tokensEndAtMs } }
    : { ...revocation, untilMs: rowUntilMs(tokensEndAtMs) };
}
