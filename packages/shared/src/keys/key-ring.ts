import { decodeJwt, isTokenType, type JwtClaims, type JwtHeader } from "@edge-op/protocol/jwt/decode-claims";
import { importPublicKey } from "@edge-op/protocol/jwt/import-key";
import type { KeyAlgorithm } from "@edge-op/protocol/jwt/key-algorithms";
import {
  encodeJwsHeader,
  isSigningAlgorithm,
  type SigningAlgorithm,
  signCompact,
} from "@edge-op/protocol/jwt/signing-algorithms";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import * as errors from "jose/errors";
import { compactVerify } from "jose/jws/compact/verify";
import type { ControlView } from "../control/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { HeldSchedule, type KeyScheduleBindings } from "./held-schedule.ts";
import { isVerifying, type KeySchedule, type ScheduledKey, signingKey } from "./key-schedule.ts";
import { unwrapPrivateKey } from "./wrapped-private-key.ts";

export type KeyBindings = KeyScheduleBindings & MasterKeyBindings;

export interface SignRequest {
  readonly alg: SigningAlgorithm;
  /** Absent in formats that define none. A JWS without `typ` is never verified here, so it cannot be mistaken for another token. */
  readonly typ: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface VerifiedJwt {
  readonly header: JwtHeader;
  readonly claims: JwtClaims;
  readonly kid: string;
  /** When the key stops verifying; results derived from the verification must not be cached longer. */
  readonly retireAtMs: number;
}

/**
 * **Signs and verifies with the provider's keys**, by the schedule and the clock. The schedule, never the token, determines the algorithm of a
 * verification (K4), and without a key that may sign, nothing is signed (K5). A `kid` that is not in the schedule does not belong to this provider,
 * because a key only signs after every isolate knows it (K6). Cost warm: 0 calls.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8725#section-3.1
 */
export class KeyRing {
  readonly #held: HeldSchedule;
  /** Imported keys by kid. A kid never changes its key (K3); the schedule decides each time which kids count. */
  #publicKeys = new Map<string, CryptoKey>();
  #privateKeys = new Map<string, CryptoKey>();
  /** Encoded protected headers, by kid and `typ`. */
  readonly #headers = new Map<string, string>();

  constructor(control: ControlView) {
    this.#held = new HeldSchedule(control, (schedule) => this.#forgetKeysMissingFrom(schedule));
  }

  /** The schedule, including keys of the wanted algorithms that KeyManager has or can create. */
  schedule(context: RequestContext<KeyScheduleBindings>, wanted: readonly KeyAlgorithm[] = []): Promise<KeySchedule> {
    return this.#held.currentWith(context, wanted);
  }

  /** {@link HeldSchedule.readAhead} */
  readAhead(context: RequestContext<KeyScheduleBindings>): Promise<void> {
    return this.#held.readAhead(context);
  }

  /** Loads the current schedule from KeyManager; false if it does not respond. Cost: 1 object call. */
  async reload(context: RequestContext<KeyScheduleBindings>): Promise<boolean> {
    return (await this.#held.reload(context)) !== undefined;
  }

  /** A compact JWS with the claims as payload; `undefined` members are omitted. */
  async sign(context: RequestContext<KeyBindings>, { alg, typ, claims }: SignRequest): Promise<string> {
    const key =
      signingKey(await this.#held.current(context), alg, context.arrivedAtMs) ?? (await this.#make(context, alg));
    return signCompact(alg, await this.#privateKey(context, key), this.#header(alg, key.kid, typ), claims);
  }

  /** Throws if no key can sign with an algorithm, as {@link sign} would. */
  async requireSigner(context: RequestContext<KeyBindings>, alg: SigningAlgorithm): Promise<void> {
    if (signingKey(await this.#held.current(context), alg, nowMs()) === undefined) await this.#make(context, alg);
  }

  /** The signing key of the schedule that KeyManager returns now, which includes a new key for an algorithm without one. */
  async #make(context: RequestContext<KeyBindings>, alg: SigningAlgorithm): Promise<ScheduledKey> {
    const key = signingKey(await this.#held.currentWith(context, [alg], true), alg, context.arrivedAtMs);
    if (key === undefined) throw new UnavailableError("KeyManager", new Error(`no ${alg} key may sign now`));
    return key;
  }

  /** `undefined` for everything except a JWS with one of the types `typ`, signed by a key that verifies now. Does not validate claims. */
  async verify(
    context: RequestContext<KeyScheduleBindings>,
    token: string,
    { typ }: { readonly typ: readonly string[] },
  ): Promise<VerifiedJwt | undefined> {
    const decoded = decodeJwt(token);
    if (decoded === undefined || !isTokenType(decoded.header.typ, typ)) return undefined;
    const { alg, kid } = decoded.header;
    if (kid === undefined || !isSigningAlgorithm(alg)) return undefined;

    const key = await this.#find(context, kid, decoded.claims);
    if (key === undefined || key.alg !== alg || !isVerifying(key, context.arrivedAtMs)) return undefined;
    try {
      await compactVerify(token, await this.#publicKey(key, alg), { algorithms: [alg] });
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed) return undefined;
      throw error;
    }
    return { ...decoded, kid, retireAtMs: key.retireAtMs };
  }

  /**
   * Throws for an unknown kid of this provider's issuer unless the schedule is that of a control version confirmed since the request's arrival:
   * within `settle`, a decision is only final at such a version.
   */
  async #find(
    context: RequestContext<KeyScheduleBindings>,
    kid: string,
    claims: JwtClaims,
  ): Promise<ScheduledKey | undefined> {
    const known = find(await this.#held.current(context), kid);
    if (known !== undefined || claims.iss !== context.settings.issuer) return known;
    const { controlConfirmed, reads } = context.progress;
    if (controlConfirmed || reads !== undefined) return undefined;
    throw new UnavailableError("control version", new Error("unconfirmed, and the kid is unknown"));
  }

  async #publicKey(key: ScheduledKey, alg: SigningAlgorithm): Promise<CryptoKey> {
    const held = this.#publicKeys.get(key.kid);
    if (held !== undefined) return held;
    const imported = await importPublicKey(alg, key.publicJwk);
    this.#publicKeys.set(key.kid, imported);
    return imported;
  }

  async #privateKey(context: RequestContext<KeyBindings>, key: ScheduledKey): Promise<CryptoKey> {
    const held = this.#privateKeys.get(key.kid);
    if (held !== undefined) return held;
    const unwrapped = await unwrapPrivateKey(context.env, key.kid, key.alg, key.wrappedPrivateKey);
    this.#privateKeys.set(key.kid, unwrapped);
    return unwrapped;
  }

  #header(alg: SigningAlgorithm, kid: string, typ: string | undefined): string {
    const name = `${kid} ${typ}`;
    const known = this.#headers.get(name);
    if (known !== undefined) return known;
    const header = encodeJwsHeader({ alg, kid, typ });
    this.#headers.set(name, header);
    return header;
  }

  #forgetKeysMissingFrom(schedule: KeySchedule): void {
    const scheduled = new Set(schedule.keys.map(({ kid }) => kid));
    const keep = (keys: Map<string, CryptoKey>) => new Map([...keys].filter(([kid]) => scheduled.has(kid)));
    this.#publicKeys = keep(this.#publicKeys);
    this.#privateKeys = keep(this.#privateKeys);
    this.#headers.clear();
  }
}

function find({ keys }: KeySchedule, kid: string): ScheduledKey | undefined {
  return keys.find((key) => key.kid === kid);
}
