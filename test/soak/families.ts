import { setTimeout as sleep } from "node:timers/promises";
import type { ApiResponse } from "../../packages/edge-op/src/provider-api.ts";
import type { Person } from "../../packages/edge-op/testing/person.ts";
import { rotatorOf, shardOf } from "./object-names.ts";
import { send } from "./send.ts";
import { type Stage, unlessBroken } from "./stage.ts";

export interface Family {
  /** Subjects: its newest refresh token, and its first access token. */
  readonly refresh: number;
  readonly access: number;
  readonly scopes: readonly string[];
  /** The tokens, newest last. Using any except the last two is theft. */
  readonly tokens: string[];
}

const familyCount = 6;
const patienceMs = 20_000;
const tryAgainMs = 100;
const mostRotations = 10;
const watchMs = 3_000;

/** **Refresh families under load**: rotated one after the other, and sometimes stolen, which ends the entire grant. */
export class Families {
  readonly #stage: Stage;
  #live: Family[] = [];
  readonly #busy = new Set<Family>();
  #turns = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** The rotators of the live families. */
  shards(): string[] {
    return this.#live.map(({ tokens }) => rotatorOf(tokens.at(-1)!));
  }

  /** Rotates one family, or creates one if there are too few. */
  async refresh(): Promise<boolean> {
    this.#turns += 1;
    // Every other turn, so that rotations continue while families are created.
    if (this.#live.length < familyCount && this.#turns % 2 === 1) {
      const family = await this.signIn(this.#stage.browser, "refresh token stolen");
      if (family !== undefined) this.#live.push(family);
      return false;
    }
    const family = this.#take(() => true);
    return family === undefined ? false : this.#use(family, () => this.rotate(family));
  }

  /** A family of this person; `undefined` if signing in failed, which only a fault excuses. */
  async signIn(person: Person, fate: string): Promise<Family | undefined> {
    const { guarantee } = this.#stage;
    const response = await this.#stage.signIn(person, "openid offline_access");
    if (response === undefined) return undefined;
    const accessToken = String(response.body["access_token"]);
    const refreshToken = String(response.body["refresh_token"]);
    const scopes = [rotatorOf(refreshToken), shardOf(accessToken)];
    return {
      refresh: guarantee.issued(`refresh: ${fate}`, scopes),
      access: this.#stage.check({ kind: "introspection", token: accessToken }, fate, scopes),
      scopes,
      tokens: [refreshToken],
    };
  }

  /** Uses the newest refresh token and judges the response. The next call repeats a request whose response was lost. */
  async rotate(family: Family): Promise<boolean> {
    const response = await this.send(family.tokens.at(-1)!, family.refresh);
    if (response?.status !== 200) return false;
    family.tokens.push(String(response.body["refresh_token"]));
    return true;
  }

  /** A thief uses an older token than the last two: it is refused, and the family from then on too. */
  async steal(): Promise<boolean> {
    const family = this.#take(() => true);
    if (family === undefined) return false;
    this.#live = this.#live.filter((other) => other !== family);
    for (let tries = 0; tries < mostRotations && family.tokens.length < 3; tries += 1) await this.rotate(family);
    if (family.tokens.length < 3) return false;
    const { guarantee } = this.#stage;
    const subjects = [family.refresh, family.access];
    const stolen = guarantee.issued("refresh: a token used before", family.scopes);
    guarantee.ended(stolen, 0);
    for (const subject of subjects) guarantee.ending(subject, Date.now());
    const giveUpAtMs = Date.now() + patienceMs;
    while (Date.now() < giveUpAtMs) {
      const response = await this.send(family.tokens.at(-3)!, stolen);
      if (response?.status === 200 || response?.status === 400) {
        // If it were rotated, that would be the violation, and the grant would continue.
        if (response.status === 400) for (const subject of subjects) guarantee.ended(subject, Date.now());
        await this.rotate(family);
        setTimeout(() => this.#stage.forget(subjects), watchMs).unref();
        return true;
      }
      await sleep(tryAgainMs);
    }
    throw new Error("a theft was not answered within its patience");
  }

  /** One use of a refresh token, judged as a check of the subject. */
  async send(token: string, subject: number): Promise<ApiResponse | undefined> {
    const { fixtures, application } = this.#stage;
    const startedAtMs = Date.now();
    const form = { grant_type: "refresh_token", refresh_token: token };
    const response = await unlessBroken(() => fixtures.token(application.client, form));
    const status = response?.status ?? 0;
    const isRefused = status === 400 && response?.body["error"] === "invalid_grant";
    const accepted = status === 200 ? true : isRefused ? false : undefined;
    const times = { startedAtMs, invokedAtMs: startedAtMs, respondedAtMs: Date.now() };
    this.#stage.judge({ subject, isolate: "op", ...times, status, accepted });
    return response;
  }

  /** Sends the headers of a refresh now, and its body after a promise. */
  async refreshSlowly(family: Family, before: Promise<void>): Promise<void> {
    const { fixtures, application } = this.#stage;
    const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: family.tokens.at(-1)! }).toString();
    const { authorization } = application.client;
    const sent = await send(fixtures.origin, { method: "POST", path: "/token", authorization, body }, before);
    // The change for which the body waited took longer than a body may take.
    if (sent.incomplete && sent.status === 408) return;
    const accepted = sent.status === 200 ? true : sent.status === 400 ? false : undefined;
    this.#stage.judge({ ...sent, subject: family.refresh, isolate: "op", respondedAtMs: Date.now(), accepted });
  }

  #take(isWanted: (family: Family) => boolean): Family | undefined {
    const free = this.#live.filter((family) => !this.#busy.has(family) && isWanted(family));
    return free[Math.floor(Math.random() * free.length)];
  }

  async #use<T>(family: Family, work: () => Promise<T>): Promise<T> {
    this.#busy.add(family);
    try {
      return await work();
    } finally {
      this.#busy.delete(family);
    }
  }
}
