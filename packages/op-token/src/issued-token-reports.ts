import { decodeJwt } from "@edge-op/protocol/jwt/decode-claims";
import type { GrantType } from "@edge-op/protocol/oauth/grant-types";
import type { AuditKeeperBindings } from "@edge-op/shared/audit/admin-event";
import type { IssuedToken, IssuedTokensResult } from "@edge-op/shared/audit/audit-keeper-rpc";
import type { Client } from "@edge-op/shared/clients/client";
import { limits } from "@edge-op/shared/config/limits";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { rulesOfParties } from "@edge-op/shared/issuers/trusted-issuer";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";
import { callObject, objectStub } from "@edge-op/shared/storage/call-object";
import { controlPlaneName } from "@edge-op/shared/storage/shard-address";

/** Tokens per call; further ones are only counted. */
const mostHeld = 20;
const gatherMs = 1_000;
/** The pause after a failed call. */
const failedPauseMs = 60_000;

interface IssuedResponse {
  readonly access_token: string;
  readonly scope?: string;
}

/**
 * **Reports issued tokens to the audit log in the background** (ADR 35): best effort, in batches of one call, as often as the object allows. No
 * request waits for it, and nothing is written on the path of a token. Cost: at most one object call per second, one per five seconds in a busy
 * deployment, and ten per second of all isolates together.
 */
export class IssuedTokenReports {
  #held: IssuedToken[] = [];
  #omitted = 0;
  #isSending = false;
  #pausedUntilMs = 0;

  /** `describe` is called only if the token will be reported. */
  note(context: RequestContext<AuditKeeperBindings>, describe: () => IssuedToken): void {
    if (context.settings.auditTokensPerMinute === 0) return;
    if (this.#held.length < mostHeld) this.#held.push(describe());
    else this.#omitted += 1;
    if (this.#isSending || context.arrivedAtMs < this.#pausedUntilMs) return;
    this.#isSending = true;
    context.waitUntil(this.#send(context));
  }

  async #send({ env, settings, requestId }: RequestContext<AuditKeeperBindings>): Promise<void> {
    await scheduler.wait(gatherMs);
    const [tokens, omitted] = [this.#held, this.#omitted];
    this.#held = [];
    this.#omitted = 0;
    const stub = objectStub(settings, env.CONTROL_PLANE, controlPlaneName);
    const call = async (): Promise<IssuedTokensResult> => await stub.recordIssued(tokens, omitted);
    try {
      const { pauseMs } = await callObject("control plane", call, limits.statisticsCallMs);
      this.#pausedUntilMs = nowMs() + pauseMs;
    } catch (cause) {
      this.#pausedUntilMs = nowMs() + failedPauseMs;
      log("issued-tokens-not-recorded", { tokens: tokens.length + omitted, cause: String(cause), requestId });
    } finally {
      this.#isSending = false;
    }
  }
}

/** The redemption of a code or a device code has its own event (op-state). */
export function reportIssued(
  context: RequestContext<AuditKeeperBindings>,
  isolate: { readonly issuedTokens: IssuedTokenReports },
  type: GrantType,
  client: Client,
  issued: IssuedResponse,
): void {
  if (type === "authorization_code" || type === "urn:ietf:params:oauth:grant-type:device_code") return;
  isolate.issuedTokens.note(context, () => describe(context, type, client, issued));
}

/** The subject is the one in the token. */
function describe(
  context: RequestContext<unknown>,
  grantType: GrantType,
  { clientId }: Client,
  { access_token: token, scope }: IssuedResponse,
): IssuedToken {
  const { sub, grant_client: grantClient, via } = decodeJwt(token)?.claims ?? {};
  const issuerRules = rulesOfParties([grantClient, ...(Array.isArray(via) ? via : [])]);
  return {
    atMs: context.arrivedAtMs,
    grantType,
    clientId,
    sub: typeof sub === "string" ? sub : undefined,
    scope,
    ...(issuerRules.length === 0 ? {} : { issuerRules }),
    address: context.network,
    requestId: context.requestId,
  };
}
