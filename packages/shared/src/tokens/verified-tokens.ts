import type { AuthorizationDetails } from "@edge-op/protocol/oauth/authorization-details";
import type { Confirmation } from "@edge-op/protocol/oauth/confirmation";
import type { AuthenticationEvent } from "@edge-op/protocol/oauth/login-context";
import { isolateMemory, limits } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import type { TokenId } from "../storage/shard-address.ts";
import type { RbacClaims } from "../users/user.ts";

/** **A verified access token**, as every endpoint sees it; access-token.ts reads and writes its wire format. */
export interface AccessToken extends AuthenticationEvent {
  readonly id: TokenId;
  readonly sub: string;
  readonly clientId: string;
  /** The organisation for which the user acts (ADR 72). */
  readonly orgId?: string | undefined;
  /** The client that the grant was issued to; differs from `clientId` after an exchange. */
  readonly grantClientId: string;
  /** The clients that exchanged it between the grant's client and its own, oldest first. */
  readonly viaClientIds: readonly string[];
  /** The `random` parts of the ids of the tokens it was exchanged from, oldest first; all belong to the same grant. */
  readonly lineage: readonly string[];
  readonly audiences: readonly string[];
  readonly resources: readonly string[];
  readonly scope: readonly string[];
  readonly issuedAtSeconds: number;
  readonly expiresAtSeconds: number;
  readonly act: ActorClaim | undefined;
  readonly mayAct: Readonly<Record<string, unknown>> | undefined;
  /** The key that the token's bearer must prove; such a token is never accepted as a bearer token. */
  readonly cnf: Confirmation | undefined;
  /** Limited to what the scope covers, as `username` is. */
  readonly rbac: RbacClaims | undefined;
  /** Whether `sub` is a user; the subject of a client-credentials token is the client. */
  readonly forUser: boolean;
  readonly username: string | undefined;
  /** The `sub` that this client sees instead (OIDC Core §8.1): the `sub` claim of the token. */
  readonly pairwiseSub: string | undefined;
  /** `authorization_details` (RFC 9396 §9.1). */
  readonly authorizationDetails: AuthorizationDetails | undefined;
  /** Claims requested individually at /authorize (OIDC Core §5.5). */
  readonly userinfoClaims: readonly string[] | undefined;
  /** The claims to which an administrator mapped attributes of the user. */
  readonly mappedClaims: Readonly<Record<string, unknown>> | undefined;
}

/** @see https://www.rfc-editor.org/rfc/rfc8693#section-4.1 */
export interface ActorClaim {
  readonly sub: string;
  readonly client_id?: string;
  readonly iss?: string;
  readonly act?: ActorClaim;
}

/**
 * **Tokens that this isolate has verified**, keyed by the whole token and filled only after verification: a forged token with a live token's `jti`
 * never finds that token's entry. An entry ends with `exp`, with its key, and with every change of keys. Revocation is not part of it and is checked
 * every time.
 */
export class VerifiedTokens {
  readonly #control: ControlView;
  readonly #tokens = new IsolateCache<AccessToken>({ maxBytes: isolateMemory.verifiedTokens });
  /** Increased by every change of keys: a verification that began before it must not be stored after it. */
  #epoch = 0;

  constructor(control: ControlView) {
    this.#control = control;
    control.onChange("keys", () => {
      this.#epoch += 1;
      this.#tokens.clear();
    });
  }

  get heldBytes(): number {
    return this.#tokens.bytes;
  }

  get(token: string, atMs: number): AccessToken | undefined {
    return this.#tokens.get(token, atMs);
  }

  /** The epoch for {@link add}. Call it before the verification starts. */
  begin(): number {
    return this.#epoch;
  }

  add(begun: number, token: string, accessToken: AccessToken, keyRetiresAtMs: number): void {
    // Without a known version, the keys may be outdated.
    if (begun !== this.#epoch || this.#control.version === undefined) return;
    if (token.length > limits.cachedTokenBytes) return;
    this.#tokens.set(token, accessToken, Math.min(accessToken.expiresAtSeconds * 1000, keyRetiresAtMs));
  }
}
