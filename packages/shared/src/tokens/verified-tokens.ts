import { isolateMemory, limits } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import type { AccessToken } from "./access-token-content.ts";

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
