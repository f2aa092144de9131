/** **The recipes of seeds, by class**, and their concurrency: a strict revocation waits up to a second for leases, so many run at a time. */

import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "../../packages/edge-op/src/provider-api.ts";
import type { DpopProofs } from "../lib/dpop-proofs.ts";
import type { PeopleScenario, ScenarioName } from "../lib/presets.ts";
import { actorNames, type Seed } from "../lib/seed-file.ts";
import { audiences, resources } from "../lib/variations.ts";
import { Browser } from "./browser.ts";
import { type Cast, otherAudience, type Person, redirectUri, strangerAudience } from "./provision.ts";
import { describeToken, TokenSource, withWrongSignature } from "./token-source.ts";

export interface Recipe {
  readonly atOnce: number;
  make(index: number): Promise<Seed>;
}

const atOnce = 24;
const revocationsAtOnce = 200;
/** Clients whose documents isolates have cached after their first request. */
const warmDocuments = 10;

/** The scope of a sign-in whose refresh tokens are used, and its client. */
export interface FamilyOptions {
  readonly scope: string;
  readonly client: "web" | "web-es256";
}

/** The binding of the created tokens. */
export interface BindingOptions {
  readonly proofs?: DpopProofs | undefined;
  /** The URL under which metadata documents are served. */
  readonly documents?: string | undefined;
}

export function recipesFor(
  scenario: Exclude<ScenarioName, PeopleScenario>,
  origin: string,
  cast: Cast,
  family: FamilyOptions = { scope: "openid offline_access", client: "web" },
  { proofs, documents = "" }: BindingOptions = {},
): Readonly<Record<string, Recipe>> {
  const tokens = new TokenSource(origin, cast, proofs);
  const person = (index: number): Person => cast.people[index % cast.people.length]!;
  const resourceServer = cast.clients.resource.client_id;
  const forApi = (index: number) => [resourceServer, audiences[index % audiences.length]!];
  const mint = (index: number) => tokens.forPerson("app", person(index), forApi(index));

  const valid: Recipe = { atOnce, make: async (index) => describeToken(await mint(index)) };
  const expired: Recipe = {
    atOnce,
    make: async (index) => describeToken(await tokens.forPerson("short", person(index), forApi(index))),
  };
  const revoked: Recipe = {
    atOnce: revocationsAtOnce,
    make: async (index) => {
      const token = await mint(index);
      await tokens.revoke("app", token);
      return describeToken(token);
    },
  };
  const actors = new Map<string, Promise<string>>();
  const actorToken = (index: number) => {
    const name = actorNames[index % actorNames.length]!;
    const held = actors.get(name) ?? tokens.forService(name);
    actors.set(name, held);
    return held;
  };
  switch (scenario) {
    case "exchange":
      return {
        valid,
        delegation: valid,
        expired,
        invalid_signature: {
          atOnce,
          make: async (index) => {
            const seed = describeToken(await mint(index));
            return { ...seed, token: withWrongSignature(seed.token!) };
          },
        },
        revoked,
        actor: { atOnce: 1, make: async (index) => describeToken(await actorToken(index)) },
      };
    case "introspect":
      return {
        valid,
        exchanged: {
          atOnce,
          make: async (index) => {
            const resource = resources[index % resources.length]!;
            const token = await tokens.exchange(await mint(index), await actorToken(index), resourceServer, resource);
            return { ...describeToken(token), resource: [resource] };
          },
        },
        expired,
        revoked,
        wrong_audience: {
          atOnce,
          make: async (index) => describeToken(await tokens.forPerson("app", person(index), [otherAudience])),
        },
        wrong_client: {
          atOnce,
          make: async (index) => describeToken(await tokens.forPerson("stranger", person(index), [strangerAudience])),
        },
      };
    case "userinfo":
      // A token for requested audiences is only for these, so UserInfo refuses it.
      return {
        valid: { atOnce, make: async (index) => describeToken(await tokens.forPerson("app", person(index), [])) },
      };
    case "login":
      return { login: { atOnce, make: async (index) => person(index) } };
    case "silent":
      return { session: { atOnce: 8, make: (index) => openSession(origin, cast, person(index)) } };
    case "documents": {
      const { client_id: registered } = cast.clients.web;
      return {
        registered: { atOnce, make: async () => ({ client_id: registered }) },
        warm: { atOnce, make: async (index) => ({ client_id: `${documents}/warm/${index % warmDocuments}.json` }) },
        // The run adds a unique name per request.
        cold: { atOnce, make: async () => ({ client_id: `${documents}/cold` }) },
      };
    }
    case "id-jag": {
      const forPerson: Recipe = { atOnce, make: async (index) => ({ sub: person(index).sub }) };
      return { once: forPerson, twice: forPerson, forged: forPerson };
    }
    case "refresh": {
      const start: Recipe = { atOnce: 8, make: (index) => openFamily(origin, cast, tokens, person(index), family) };
      return { family: start, stolen: start };
    }
  }
}

async function openSession(origin: string, cast: Cast, person: Person): Promise<Seed> {
  const browser = new Browser(origin);
  const { username, password } = person;
  await browser.authorize(cast.clients.web.client_id, "openid profile", undefined, { username, password });
  return { cookie: browser.cookieHeader, sub: person.sub };
}

const browsers = new WeakMap<Cast, Map<string, Promise<Browser>>>();

/** One sign-in per person, then a silent authorization for each family, because each authorization starts a family. */
async function openFamily(
  origin: string,
  cast: Cast,
  tokens: TokenSource,
  person: Person,
  { scope, client }: FamilyOptions,
): Promise<Seed> {
  const held = browsers.get(cast) ?? new Map<string, Promise<Browser>>();
  browsers.set(cast, held);
  const signedIn = held.get(person.sub) ?? signIn(origin, cast, person);
  held.set(person.sub, signedIn);
  const browser = await signedIn;
  const { code, verifier } = await browser.authorize(cast.clients[client].client_id, scope, "none");
  const form = new URLSearchParams({
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  });
  const response = await tokens.post("/token", cast.clients[client], form);
  if (response.status !== 200 || typeof response.body.refresh_token !== "string")
    throw new ApiError("refresh token", response);
  return { token: response.body.refresh_token, sub: person.sub };
}

async function signIn(origin: string, cast: Cast, { username, password }: Person): Promise<Browser> {
  const browser = new Browser(origin);
  await browser.authorize(cast.clients.web.client_id, "openid", undefined, { username, password });
  return browser;
}

/** After this time, tokens of a one-second client have expired. */
export function waitForExpiry(): Promise<void> {
  return sleep(2500);
}
