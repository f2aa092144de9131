import { describe, expect, test } from "vitest";
import { cardAt, classShares, deckOf } from "../lib/classes.ts";
import {
  type Answer,
  isLateRefusal,
  judgeCode,
  judgeExchange,
  judgeIdJag,
  judgeIntrospection,
  judgeLoginRequired,
  judgeRotation,
  judgeSameSuccessor,
  judgeTheft,
  judgeUserinfo,
} from "../lib/judge.ts";
import { askedRequests, loadOf, presetsOf, scenarioNames } from "../lib/presets.ts";
import { requiredSeeds, type Seed, type SeedFile, seedFaults } from "../lib/seed-file.ts";
import { readServerTiming } from "../lib/server-timing.ts";
import { findForm } from "../lib/sign-in-form.ts";

const seed: Seed = {
  token: "a.b.c",
  sub: "alice",
  scope: "openid profile",
  client_id: "app",
  jti: "j1",
  exp: 2000,
  aud: ["api"],
  resource: ["https://resource.example.com"],
  actor: "service-bff",
};
const activeBody = {
  active: true,
  sub: "alice",
  scope: "openid profile",
  client_id: "app",
  jti: "j1",
  exp: 2000,
  aud: "api",
};
const answer = (body: Record<string, unknown>, status = 200): Answer => ({ status, body });

describe("clients of metadata documents", () => {
  const to = (location: string, status = 303): Answer => ({ status, body: undefined, location });
  const judge = (found: Answer) => judgeLoginRequired("https://app.example/cb", "s1", found);

  test("login_required at the redirect URI, with the state", () => {
    expect(judge(to("https://app.example/cb?error=login_required&state=s1")).kind).toBe("right");
    expect(judge({ status: 503, body: undefined }).kind).toBe("unavailable");
  });

  test.each([
    ["a page that refuses the client", { status: 400, body: undefined }, "false_negative"],
    ["a redirect elsewhere", to("https://evil.example/cb?error=login_required&state=s1"), "claim_broken"],
    ["another error", to("https://app.example/cb?error=invalid_request&state=s1"), "claim_broken"],
    ["a code", to("https://app.example/cb?code=c&state=s1"), "claim_broken"],
    ["another state", to("https://app.example/cb?error=login_required&state=s2"), "claim_broken"],
  ])("%s is wrong", (_, found, how) => {
    expect(judge(found)).toMatchObject({ kind: "wrong", how });
  });
});

describe("ID-JAGs", () => {
  const expected = { sub: "alice", resource: "https://api.example", scope: "read" };
  const claims = { sub: "alice", aud: "https://api.example", scope: "read" };
  const issued = answer({ access_token: "a.b.c" });
  const refused = answer({ error: "invalid_grant" }, 400);
  const judge = (name: string, answers: readonly Answer[], found: Record<string, unknown> = claims) =>
    judgeIdJag(name, expected, answers, () => found);

  test("one use returns one token, two uses also one, and a forged one none", () => {
    expect(judge("once", [issued]).kind).toBe("right");
    expect(judge("twice", [refused, issued]).kind).toBe("right");
    expect(judge("forged", [refused]).kind).toBe("right");
    expect(judge("twice", [issued, answer({}, 503)]).kind).toBe("unavailable");
  });

  test.each([
    ["two tokens of one ID-JAG", "twice", [issued, issued], claims, "false_positive"],
    ["a token of a forged one", "forged", [issued], claims, "false_positive"],
    ["none of a good one", "once", [refused], claims, "false_negative"],
    ["none of two uses", "twice", [refused, refused], claims, "false_negative"],
    ["another error", "forged", [answer({ error: "invalid_client" }, 401)], claims, "claim_broken"],
    ["another user", "once", [issued], { ...claims, sub: "bob" }, "claim_broken"],
    ["another audience", "once", [issued], { ...claims, aud: ["https://api.example", "x"] }, "claim_broken"],
    ["another scope", "once", [issued], { ...claims, scope: "read write" }, "claim_broken"],
  ] as const)("%s is wrong", (_, name, answers, found, how) => {
    expect(judge(name, answers, found)).toMatchObject({ kind: "wrong", how });
  });
});

describe("introspection", () => {
  test.each(["expired", "revoked", "wrong_audience", "wrong_client"])(
    "a %s token answered active is a false positive",
    (name) => {
      expect(judgeIntrospection(name, seed, answer({ active: true }))).toMatchObject({
        kind: "wrong",
        how: "false_positive",
      });
      expect(judgeIntrospection(name, seed, answer({ active: false })).kind).toBe("right");
    },
  );

  test("an inactive response with further members is wrong (RFC 7662 §2.2)", () => {
    expect(judgeIntrospection("expired", seed, answer({ active: false, exp: 1 }))).toMatchObject({
      how: "claim_broken",
    });
  });

  test("a valid token reported as inactive is a false negative", () => {
    expect(judgeIntrospection("valid", seed, answer({ active: false }))).toMatchObject({ how: "false_negative" });
  });

  test.each(["sub", "scope", "client_id", "jti", "exp", "aud"])("a changed %s is a broken claim", (claim) => {
    expect(judgeIntrospection("valid", seed, answer({ ...activeBody, [claim]: "other" }))).toMatchObject({
      how: "claim_broken",
    });
    expect(judgeIntrospection("valid", seed, answer(activeBody)).kind).toBe("right");
  });

  test("an exchanged token must contain its actor and its resource", () => {
    const whole = { ...activeBody, act: { sub: "service-bff" }, resource: ["https://resource.example.com"] };
    expect(judgeIntrospection("exchanged", seed, answer(whole)).kind).toBe("right");
    expect(judgeIntrospection("exchanged", seed, answer({ ...whole, act: undefined }))).toMatchObject({
      how: "claim_broken",
    });
    expect(judgeIntrospection("exchanged", seed, answer({ ...whole, resource: [] }))).toMatchObject({
      how: "claim_broken",
    });
  });

  test.each([0, 429, 500, 503])("status %i is no answer, and no wrong one", (status) => {
    expect(judgeIntrospection("revoked", seed, { status, body: undefined })).toEqual({ kind: "unavailable" });
  });
});

describe("token exchange", () => {
  const asked = {
    audience: "https://api.example.com/users",
    resource: "https://r.example.com",
    scope: "openid",
    actor: undefined,
  };
  const claims = { sub: "alice", scope: "openid", aud: [asked.audience, asked.resource] };
  const good = answer({ access_token: "x.y.z", scope: "openid" });
  const judge = (change: object, className = "valid", actor?: string) =>
    judgeExchange(className, seed, { ...asked, actor }, good, () => ({ ...claims, ...change }));

  test("a new token with unchanged sub, scope and audience is correct", () => {
    expect(judge({}).kind).toBe("right");
    expect(judge({ act: { sub: "service-bff" } }, "delegation", "service-bff").kind).toBe("right");
  });

  test.each([
    ["another sub", { sub: "bob" }],
    ["a wider scope", { scope: "openid email" }],
    ["another audience", { aud: ["https://evil.example.com"] }],
    ["an actor that nobody presented", { act: { sub: "x" } }],
  ])("%s is a broken claim", (_, change) => {
    expect(judge(change)).toMatchObject({ how: "claim_broken" });
  });

  test("a delegation without act is a broken claim", () => {
    expect(judge({}, "delegation", "service-bff")).toMatchObject({ how: "claim_broken" });
  });

  test("returning the subject token is not an exchange", () => {
    expect(judgeExchange("valid", seed, asked, answer({ access_token: seed.token }), () => claims)).toMatchObject({
      how: "claim_broken",
    });
  });

  test.each(["expired", "invalid_signature", "revoked"])(
    "an exchanged %s token is a false positive; only 400 refuses it",
    (name) => {
      expect(judgeExchange(name, seed, asked, good, () => claims)).toMatchObject({ how: "false_positive" });
      expect(judgeExchange(name, seed, asked, answer({ error: "invalid_request" }, 400), () => claims).kind).toBe(
        "right",
      );
      expect(judgeExchange(name, seed, asked, answer({}, 401), () => claims)).toMatchObject({ how: "claim_broken" });
    },
  );
});

describe("refresh", () => {
  const rotated = answer({ access_token: "a", refresh_token: "next" });
  const jtiOf = ({ body }: Answer) => body?.access_token;

  test("a refresh token that is returned unchanged did not rotate", () => {
    expect(judgeRotation("old", rotated).kind).toBe("right");
    expect(judgeRotation("next", rotated)).toMatchObject({ how: "claim_broken" });
    expect(judgeRotation("old", answer({ error: "invalid_grant" }, 400))).toMatchObject({ how: "false_negative" });
  });

  test("two different successors of one token are wrong, in either token (R1, R2)", () => {
    expect(judgeSameSuccessor("old", rotated, rotated, jtiOf).kind).toBe("right");
    const otherRefresh = answer({ access_token: "a", refresh_token: "another" });
    const otherAccess = answer({ access_token: "b", refresh_token: "next" });
    expect(judgeSameSuccessor("old", rotated, otherRefresh, jtiOf)).toMatchObject({ how: "claim_broken" });
    expect(judgeSameSuccessor("old", rotated, otherAccess, jtiOf)).toMatchObject({ how: "claim_broken" });
  });

  test("only a refusal after the grace may be due to the retry's own delay", () => {
    const refused = answer({ error: "invalid_grant" }, 400);
    expect(isLateRefusal([rotated, refused], 30_001, 30_000)).toBe(true);
    expect(isLateRefusal([rotated, refused], 30_000, 30_000)).toBe(false);
    expect(isLateRefusal([rotated, rotated], 60_000, 30_000)).toBe(false);
    expect(isLateRefusal([rotated, answer({ error: "invalid_client" }, 401)], 60_000, 30_000)).toBe(false);
  });

  test("a stolen token that works, or a family that survives it, is a false positive (R3)", () => {
    const refused = answer({ error: "invalid_grant" }, 400);
    expect(judgeTheft(refused, refused).kind).toBe("right");
    expect(judgeTheft(rotated, refused)).toMatchObject({ how: "false_positive" });
    expect(judgeTheft(refused, rotated)).toMatchObject({ how: "false_positive" });
    expect(judgeTheft(refused, answer({ error: "invalid_client" }, 401))).toMatchObject({ how: "claim_broken" });
  });
});

test("another user's UserInfo is a broken claim, a refusal a false negative", () => {
  expect(judgeUserinfo(seed, answer({ sub: "alice" })).kind).toBe("right");
  expect(judgeUserinfo(seed, answer({ sub: "bob" }))).toMatchObject({ how: "claim_broken" });
  expect(judgeUserinfo(seed, answer({}, 401))).toMatchObject({ how: "false_negative" });
});

test("a code must be returned to the right URI with the state that was sent", () => {
  const to = (location: string): Answer => ({ status: 302, body: undefined, location });
  const callback = "https://load.example.com/callback";
  expect(judgeCode(callback, "s1", to(`${callback}?code=c&state=s1`)).kind).toBe("right");
  expect(judgeCode(callback, "s1", to(`${callback}?code=c&state=s2`))).toMatchObject({ how: "claim_broken" });
  expect(judgeCode(callback, "s1", to("https://evil.example.com/?code=c&state=s1"))).toMatchObject({
    how: "claim_broken",
  });
  expect(judgeCode(callback, "s1", to(`${callback}?error=login_required&state=s1`))).toMatchObject({
    how: "false_negative",
  });
});

describe("the mix", () => {
  test.each(scenarioNames)("%s: a thousand iterations hold exactly the shares", (scenario) => {
    const shares = classShares[scenario];
    const deck = deckOf(shares);
    for (const [name, share] of Object.entries(shares)) {
      expect(deck.filter(({ className }) => className === name)).toHaveLength(share);
    }
  });

  test("no two iterations of a class share a rank", () => {
    const shares = classShares.refresh;
    const deck = deckOf(shares);
    const cards = Array.from({ length: 5000 }, (_, iteration) => cardAt(shares, deck, iteration));
    const keys = new Set(cards.map(({ className, rank }) => `${className} ${rank}`));
    expect(keys.size).toBe(5000);
  });
});

describe("presets", () => {
  test("the reference's ramp asks for as many requests as were published (146,231 at 1,000/s), within 2 %", () => {
    expect(askedRequests(loadOf("userinfo", "rps1000", "reference")) / 146_231).toBeCloseTo(1, 1);
  });

  test("hold keeps the full rate for the entire time", () => {
    const { stages } = loadOf("exchange", "rps500", "hold");
    expect(stages).toEqual([
      { seconds: 15, toRate: 500 },
      { seconds: 180, toRate: 500 },
    ]);
  });

  test("probe is a short hold", () => {
    const probe = loadOf("exchange", "rps1200", "probe");
    expect(probe.warmUp).toEqual({ rate: 50, seconds: 10 });
    expect(probe.stages).toEqual([
      { seconds: 15, toRate: 1200 },
      { seconds: 30, toRate: 1200 },
    ]);
    expect(loadOf("refresh", "rps1200", "probe").stages).toEqual(probe.stages);
  });

  test("virtual users: 1.2 times the rate, at most 1.5", () => {
    expect(loadOf("refresh", "rps1000", "reference")).toMatchObject({
      preAllocatedVus: 1200,
      maxVus: 1500,
      warmUp: undefined,
    });
  });

  test("the matrix holds every published preset", () => {
    expect(scenarioNames.map((name) => presetsOf(name).length)).toEqual([13, 8, 9, 10, 11, 7, 6, 5, 5, 5, 5]);
  });
});

describe("seeds", () => {
  const load = loadOf("introspect", "rps300", "reference");
  const required = requiredSeeds("introspect", load);
  const classes = Object.fromEntries(
    Object.entries(required).map(([name, length]) => [name, Array<Seed>(length).fill(seed)]),
  );
  const file: SeedFile = {
    format: 1,
    scenario: "introspect",
    origin: "https://op.example.com",
    issuer: "https://op.example.com",
    createdAt: "2026-11-20T10:00:00.000Z",
    validUntil: 5000,
    clients: {},
    classes,
  };

  test("3,000 tokens are required, by their shares", () => {
    expect(required).toEqual({
      valid: 1800,
      exchanged: 150,
      expired: 360,
      revoked: 360,
      wrong_audience: 180,
      wrong_client: 150,
    });
    expect(seedFaults(file, "introspect", required, 4000)).toEqual([]);
  });

  test("a short class, a missing class, another scenario and early expiry are faults", () => {
    const { revoked, ...missing } = classes;
    const short = { ...missing, revoked: revoked!.slice(1) };
    expect(seedFaults({ ...file, classes: short }, "introspect", required, 4000)).toEqual([
      "it holds 359 of 360 seeds of class revoked",
    ]);
    expect(seedFaults({ ...file, classes: missing }, "introspect", required, 4000)).toEqual([
      "it holds 0 of 360 seeds of class revoked",
    ]);
    expect(seedFaults({ ...file, scenario: "userinfo" }, "introspect", required, 4000)).toEqual([
      "it was made for userinfo",
    ]);
    expect(seedFaults(file, "introspect", required, 6000)).toEqual(["its tokens expire before the run ends"]);
  });

  test("refresh needs a family per virtual user and a fresh one per theft", () => {
    const hold = loadOf("refresh", "rps100", "hold");
    expect(requiredSeeds("refresh", hold)).toEqual({
      family: 150 + 75,
      stolen: Math.ceil(askedRequests(hold) * 0.005) + 5,
    });
  });
});

test("Server-Timing is read as counts, and only if all three are present", () => {
  expect(readServerTiming("object;dur=1, kv;dur=0, d1;dur=2")).toEqual({ object: 1, kv: 0, d1: 2 });
  expect(readServerTiming("total;dur=3.5, object;dur=1")).toBeUndefined();
  expect(readServerTiming(undefined)).toBeUndefined();
});

test("the password form is found among others, with its hidden fields", () => {
  const html = `<form action="/x"><input name="credential"></form>
    <form method="post" action="/interaction/i?a=1&amp;b=2"><input type="hidden" name="form_token" value="t&quot;1"/>
    <input id="password" name="password" type="password"></form>`;
  expect(findForm(html, "password")).toEqual({ action: "/interaction/i?a=1&b=2", fields: { form_token: 't"1' } });
});
