/**
 * **The operations on the provider during a soak.** An operation that ends something reports when it was sent and when it returned successfully; it
 * is repeated until then. Each resolves to whether it was performed.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { ApiResponse } from "../../packages/edge-op/src/provider-api.ts";
import { basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";
import type { TestClient } from "../conformance/fixtures/provider-fixtures.ts";
import { Families } from "./families.ts";
import { shardOf } from "./object-names.ts";
import type { Operation } from "./phases.ts";
import { SignIns } from "./sign-ins.ts";
import { isolateName, type Stage } from "./stage.ts";

export type Operations = Readonly<Record<Operation, () => Promise<boolean>>>;

/** Live tokens that are introspected at any time. */
const poolSize = 40;
/** Below this number, none is revoked. */
const fewestLive = 5;
/** How long a subject is checked before an operation ends it, and after. */
const liveMs = 700;
const watchMs = 3_000;
/** Pauses shorter and longer than a lease. */
const frozenMs = [400, 1_500, 4_000];
const mostTries = 60;
/** A store has at most 16 live generations, and a soak is shorter than the life of one. */
const mostOpened = 14;
const tryEveryMs = 250;

/** Sends the operation that ends the subjects until it has succeeded. */
export type End = (kind: string, subjects: readonly number[], work: () => Promise<ApiResponse>) => Promise<ApiResponse>;

function clientOf(created: Readonly<Record<string, unknown>>): TestClient {
  const credentials = { client_id: String(created["client_id"]), client_secret: String(created["client_secret"]) };
  return { ...credentials, authorization: basicAuthorization(credentials) };
}

/** `regions`: of the shards and relays that the operations open. */
export function operationsOn(stage: Stage, regions: readonly string[] = ["wnam"]): Operations {
  const inEachRegion = (shards: number) => Object.fromEntries(regions.map((name) => [name, { shards, hint: name }]));
  const pool = new Map<number, string>();
  const families = new Families(stage);
  const signIns = new SignIns(stage);
  let generations = 0;

  const end: End = async (kind, subjects, work) => {
    for (const subject of subjects) stage.guarantee.ending(subject, Date.now());
    for (let tries = 0; tries < mostTries; tries += 1) {
      const response = await stage.attempt(kind, work);
      if (response !== undefined) {
        for (const subject of subjects) stage.guarantee.ended(subject, Date.now());
        setTimeout(() => stage.forget(subjects), watchMs).unref();
        return response;
      }
      await sleep(tryEveryMs);
    }
    throw new Error(`${kind} did not succeed in ${mostTries} tries`);
  };
  const administer = (method: string, path: string, body?: unknown) =>
    stage.attempt("administration", () => stage.fixtures.admin.call(method, path, body));
  const { origin, direct } = stage.provider;
  /** With a second region also each isolate: the grants of an isolate are in the shards of its region. */
  const others = Object.keys(direct).filter((name) => regions.length > 1 && name.startsWith("op-token"));
  const issuers = [origin, ...others.map((name) => direct[name]!)];
  const tokenOf = async (form: Readonly<Record<string, string>>, client = stage.service, at = origin) => {
    const { authorization } = client;
    const response = await stage.attempt("token request", () => postForm(`${at}/token`, form, { authorization }));
    return response === undefined ? undefined : String(response.body["access_token"]);
  };
  const newClient = async () => {
    const created = await administer("POST", "/clients", {
      grant_types: ["client_credentials"],
      scope: "read",
      audiences: ["https://api.example.com"],
    });
    return created === undefined ? undefined : clientOf(created.body);
  };
  const endObject = async (className: string, name: string): Promise<boolean> => {
    // Every isolate renews through its relay.
    const scope = className === "RevocationRelay" ? undefined : name;
    const finishes = [
      stage.guarantee.faultBegins(Date.now(), scope),
      // Locally all calls between two processes share connections, which end with the instance.
      stage.guarantee.faultBegins(Date.now(), { isolate: isolateName }),
    ];
    try {
      const url = `${stage.provider.direct["op-state"]}/end/${className}/${encodeURIComponent(name)}`;
      return (await fetch(url, { method: "POST" })).status === 204;
    } catch (error) {
      // The provider is restarting: no object runs.
      stage.log(`not ended: ${String(error)}`);
      return false;
    } finally {
      for (const finish of finishes) finish(Date.now());
    }
  };
  let issued = 0;
  let relayGenerations = 0;
  let freezes = 0;
  let rotating: TestClient | undefined;
  let rotatingSubject: number | undefined;
  let suspensions = 0;

  return {
    issue: async () => {
      if (pool.size >= poolSize) return false;
      issued += 1;
      const issuer = issuers[issued % issuers.length];
      const token = await tokenOf({ grant_type: "client_credentials" }, stage.service, issuer);
      if (token === undefined) return false;
      pool.set(stage.check({ kind: "introspection", token }, "token revoked", [shardOf(token)]), token);
      return true;
    },

    revoke: async () => {
      const [oldest] = pool;
      if (oldest === undefined || pool.size < fewestLive) return false;
      const [subject, token] = oldest;
      pool.delete(subject);
      await end("revocation", [subject], () => stage.fixtures.revoke(stage.service, token));
      return true;
    },

    refresh: () => families.refresh(),
    steal: () => families.steal(),

    "sign out": () => signIns.signOut(end),
    "end session": () => signIns.endSession(end),
    "withdraw consent": () => signIns.withdrawConsent(end),

    "disable client": async () => {
      const client = await newClient();
      const token = client && (await tokenOf({ grant_type: "client_credentials" }, client));
      if (client === undefined || token === undefined) return false;
      const { authorization } = client;
      const subjects = [
        stage.check({ kind: "client authentication", authorization }, "client disabled", []),
        stage.check({ kind: "introspection", token }, "client disabled", [shardOf(token)]),
      ];
      await sleep(liveMs);
      const path = `/clients/${client.client_id}`;
      await end("administration", subjects, () => stage.fixtures.admin.call("PATCH", path, { status: "disabled" }));
      return true;
    },

    "rotate secret": async () => {
      rotating ??= await newClient();
      if (rotating === undefined) return false;
      const { client_id, authorization } = rotating;
      rotatingSubject ??= stage.check({ kind: "client authentication", authorization }, "secret rotated", []);
      await sleep(liveMs);
      const path = `/clients/${client_id}/secrets`;
      const { body } = await end("administration", [rotatingSubject], () =>
        stage.fixtures.admin.call("POST", path, { overlap_seconds: 0 }),
      );
      rotating = clientOf({ client_id, ...body });
      rotatingSubject = undefined;
      return true;
    },

    "suspend user": async () => {
      const created = await administer("POST", "/users", { username: `soak-${Date.now()}-${suspensions}` });
      if (created === undefined) return false;
      const sub = String(created.body["sub"]);
      const assertion = await stage.fixtures.assertion(stage.asserter, sub);
      const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer";
      const token = await tokenOf({ grant_type, assertion, scope: "openid read" }, stage.asserter);
      if (token === undefined) return false;
      const subjects = [
        stage.check({ kind: "introspection", token }, "user suspended", [shardOf(token)]),
        stage.check({ kind: "userinfo", token }, "user suspended", [shardOf(token)]),
      ];
      suspensions += 1;
      await sleep(liveMs);
      const path = `/users/${sub}`;
      await end("administration", subjects, () => stage.fixtures.admin.call("PATCH", path, { status: "suspended" }));
      return true;
    },

    "suspend person": async () => {
      const credentials = { username: `soak-person-${Date.now()}`, password: "a long enough password" };
      const created = await administer("POST", "/users", credentials);
      if (created === undefined) return false;
      const family = await families.signIn(new Person(stage.fixtures.issuer, credentials), "user suspended");
      if (family === undefined) return false;
      const suspended = Promise.withResolvers<void>();
      const refreshed = families.refreshSlowly(family, suspended.promise);
      await sleep(liveMs);
      const path = `/users/${String(created.body["sub"])}`;
      await end("administration", [family.refresh, family.access], () =>
        stage.fixtures.admin.call("PATCH", path, { status: "suspended" }),
      );
      await sleep(1);
      suspended.resolve();
      await refreshed;
      await families.rotate(family);
      return true;
    },

    "open generation": async () => {
      if (generations === mostOpened) return false;
      const store = generations % 2 === 0 ? "revocation" : "refresh";
      const opened = await administer("POST", "/shards/generations", {
        store,
        regions: inEachRegion(4 + (generations % 3) * 2),
      });
      generations += 1;
      return opened !== undefined;
    },

    "rotate key": async () => (await administer("POST", "/keys", { alg: "ES256" })) !== undefined,

    evict: async () => {
      // The objects that live tokens and families use, of any generation.
      const used = [...new Set([...[...pool.values()].map(shardOf), ...families.shards()])];
      const name = used[Math.floor(Math.random() * used.length)];
      if (name === undefined) return false;
      // A shard is never idle while leases are held, so its instance is ended with the calls in progress.
      return endObject(name.startsWith("refresh:") ? "RefreshTokenRotator" : "TokenRevocationStore", name);
    },

    "open relays": async () => {
      if (relayGenerations === mostOpened) return false;
      relayGenerations += 1;
      const opened = { store: "relay", regions: inEachRegion(1 + (relayGenerations % 3)) };
      return (await administer("POST", "/shards/generations", opened)) !== undefined;
    },

    "end relay": async () => {
      const response = await administer("GET", "/shards/revocation/leases");
      const relays = (response?.body["relays"] ?? []) as readonly { readonly shard: string }[];
      const names = relays.map(({ shard }) => shard);
      const name = names[Math.floor(Math.random() * names.length)];
      return name !== undefined && endObject("RevocationRelay", name);
    },

    "freeze isolate": async () => {
      const { isolate } = stage;
      if (isolate === undefined) return false;
      const finish = stage.guarantee.faultBegins(Date.now(), { isolate: isolateName });
      isolate.freeze();
      await sleep(frozenMs[freezes % frozenMs.length]!);
      freezes += 1;
      isolate.thaw();
      finish(Date.now());
      return true;
    },

    restart: async () => {
      const finish = stage.guarantee.faultBegins(Date.now());
      await stage.provider.restart();
      finish(Date.now());
      return true;
    },
  };
}
