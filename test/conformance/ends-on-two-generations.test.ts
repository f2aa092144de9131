/**
 * **Every way in which a grant ends, while grants move from one generation of shards to the next** (docs/operating/resharding.md): a grant of the
 * older generation, one whose tokens are in both, and one that is refreshed while it ends. After the response no token of them is active anywhere.
 */

import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type End, EndStage, ends, type GrantKind, jtiOf, type Scene } from "./fixtures/ends.ts";
import { type FaultyProvider, startFaultyProvider } from "./fixtures/faulty-provider.ts";

const states = ["old", "moved", "moving"] as const;

/** A grant that can be refreshed, with its access tokens. */
interface Grant {
  readonly authorizationResponse: URLSearchParams;
  readonly accessTokens: string[];
  refreshToken: string;
}

interface Case extends End {
  readonly kind: GrantKind;
  scene?: Scene;
  grants?: Readonly<Record<(typeof states)[number], Grant>>;
}

/** The kind that lives longer, if an end applies to both: it ends the same rows and families. */
const cases: readonly Case[] = ends.map((end) => ({ ...end, kind: end.kinds.at(-1)! }));

/** Runs after all others. */
const everything: Case = {
  name: "a revocation of everything",
  kinds: ["offline"],
  kind: "offline",
  run: ({ stage: { fixtures } }) =>
    fixtures.admin.require("POST", "/revocations/everything", { confirm: fixtures.issuer }),
};

let provider: FaultyProvider;
let stage: EndStage;

/** Prepared at the same time. */
const atOnce = 6;

async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

const refreshableScopes = { session: "profile", offline: "openid offline_access" };

/** Without `openid` and `offline_access`, a grant ends with its session and can be refreshed. */
async function begin({ application, browser }: Scene, kind: GrantKind): Promise<Grant> {
  const { authorizationResponse } = await application.authorize(browser, { scope: refreshableScopes[kind] });
  const { status, body, text } = await application.redeem({ authorizationResponse });
  expect([status, text]).toEqual([200, expect.any(String)]);
  const accessToken = String(body["access_token"]);
  return { authorizationResponse, accessTokens: [accessToken], refreshToken: String(body["refresh_token"]) };
}

/** Takes the tokens of a refresh that succeeds; returns its status. */
async function refresh({ application }: Scene, grant: Grant): Promise<number> {
  const { status, body } = await application.refresh(grant.refreshToken);
  if (status !== 200) return status;
  grant.accessTokens.push(String(body["access_token"]));
  grant.refreshToken = String(body["refresh_token"]);
  return status;
}

beforeAll(async () => {
  provider = await startFaultyProvider({ shape: inject("shape"), direct: true, extraIsolates: 1 });
  stage = await EndStage.on(provider);
  await forEach([...cases, everything], async (each) => {
    const { kind } = each;
    const scene = await stage.prepare(kind);
    const [old, moved, moving] = [await begin(scene, kind), await begin(scene, kind), await begin(scene, kind)];
    Object.assign(each, { scene, grants: { old, moved, moving } });
  });
  await stage.openGeneration("revocation", 2);
  await stage.openGeneration("refresh", 2);
  await forEach([...cases, everything], async ({ scene, grants }) => {
    const { old, moved, moving } = grants!;
    expect(await refresh(scene!, moved)).toBe(200);
    expect(moved.accessTokens.map((token) => jtiOf(token).slice(0, 3))).toEqual(["g1:", "g2:"]);
    await Promise.all([old, moved, moving].map((grant) => expectActive(grant.accessTokens, true)));
  });
  // An end that does not wait for every place is detected.
  await provider.setFaults([{ className: "TokenRevocationStore", methods: ["revoke"], kind: "delay", ms: 250 }]);
}, 120_000);

afterAll(() => provider.stop());

/** Introspects at an isolate with leases on every shard. */
async function expectActive(tokens: readonly string[], isActive: boolean): Promise<void> {
  for (const token of tokens) expect(await stage.isActive(token), jtiOf(token)).toBe(isActive);
}

async function expectEnded(scene: Scene, grant: Grant): Promise<void> {
  await expectActive(grant.accessTokens, false);
  expect([400, 401]).toContain(await refresh(scene, grant));
}

/** Ends all grants of a scene at once, one of which is being refreshed. */
async function endAll({ scene, grants, run }: Case): Promise<void> {
  const refreshing = refresh(scene!, grants!.moving);
  await run(scene!);
  expect([200, 400, 401]).toContain(await refreshing);
  await expectActive([scene!.tokens.accessToken], false);
  for (const state of states) await expectEnded(scene!, grants![state]);
}

/** Ends each grant of a scene by itself. The others are as they were. */
async function endEach({ scene, grants, only, run }: Case): Promise<void> {
  for (const state of states) {
    const grant = grants![state];
    const { authorizationResponse, refreshToken } = grant;
    const accessToken = grant.accessTokens.at(-1)!;
    const refreshing = state === "moving" ? refresh(scene!, grant) : undefined;
    await run({ ...scene!, tokens: { ...scene!.tokens, authorizationResponse, refreshToken, accessToken } });
    expect([undefined, 200, 400]).toContain(await refreshing);
    if (only === "grant") await expectEnded(scene!, grant);
    else await expectActive([accessToken], false);
    if (only === "token" && state === "moved") await expectActive(grant.accessTokens.slice(0, 1), true);
  }
  await expectActive([scene!.tokens.accessToken], true);
}

describe.concurrent("ADR 16: grants have ended at each of their places when the response is sent", () => {
  test.each(cases)("$name: grants of kind $kind", (each) => (each.only === undefined ? endAll(each) : endEach(each)));
});

test("ADR 16: a revocation of everything ends the grants of all generations", () => endAll(everything));
