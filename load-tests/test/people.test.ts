import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cardAt, classShares, deckOf, sharesOf } from "../lib/classes.ts";
import { recover, signIn, signInWithApp, signUp } from "../lib/people.ts";
import { askedRequests, loadOf, type PeopleScenario, peopleScenarios, presetsOf } from "../lib/presets.ts";
import { requiredSeeds, type Seed } from "../lib/seed-file.ts";
import { type StartedProvider, startProvider } from "../lib/start-provider.ts";
import { totpCode } from "../lib/totp-code.ts";
import type { Visitor } from "../lib/visit.ts";
import { nodeVisitor } from "../seed/node-visitor.ts";
import { peopleRecipes } from "../seed/people-seeds.ts";
import { type Cast, createCast } from "../seed/provision.ts";

/** Runs the steps and checks of the people scenarios without k6: the same code against a provider of its own. */
const actions = { signup: signUp, recover, "login-mfa": signInWithApp } as const;

let provider: StartedProvider;
let cast: Cast;
beforeAll(async () => {
  provider = await startProvider({ vars: { SIGN_UP: "open" }, mailbox: true, cheapPasswords: true });
  cast = await createCast(provider, 1);
}, 120_000);
afterAll(() => provider.stop());

const everyClass = peopleScenarios.flatMap((scenario) =>
  Object.keys(classShares[scenario]).map((className) => [scenario, className] as const),
);

function makeSeed(scenario: PeopleScenario, className: string): Promise<Seed> {
  return peopleRecipes(scenario, provider, cast)[className]!.make(0);
}

function act(scenario: PeopleScenario, className: string, seed: Seed, changed: Partial<Visitor> = {}) {
  const visitor = { ...nodeVisitor(provider.origin), ...changed };
  return actions[scenario]({ visitor, client: cast.clients.web, className, seed, id: 1 });
}

/** Shows each code one less than it is, so that a scenario's wrong code is the right one. */
async function shifted(address: string): Promise<string> {
  const html = await nodeVisitor(provider.origin).mailbox(address);
  return html.replace(/\b(\d{4}) (\d{4})\b/g, (_, first: string, second: string) => {
    const text = String((Number(first + second) + 99_999_999) % 100_000_000).padStart(8, "0");
    return `${text.slice(0, 4)} ${text.slice(4)}`;
  });
}

describe("a person", { timeout: 60_000 }, () => {
  test("signs in by password", async () => {
    const [seed] = cast.people;
    const visitor = nodeVisitor(provider.origin);
    const verdict = await signIn({ visitor, client: cast.clients.web, className: "login", seed: seed!, id: 1 });
    expect(verdict).toEqual({ kind: "right" });
  });

  test.each(everyClass)("%s, class %s: right", async (scenario, className) => {
    expect(await act(scenario, className, await makeSeed(scenario, className))).toEqual({ kind: "right" });
  });

  test.each(["signup", "recover"] as const)("%s: an accepted wrong code is a wrong answer", async (scenario) => {
    const seed = await makeSeed(scenario, "wrong_code");
    const verdict = await act(scenario, "wrong_code", seed, { mailbox: shifted });
    expect(verdict).toMatchObject({ kind: "wrong", how: "false_positive", why: "a wrong mailed code was accepted" });
  });

  test("signup: another account for an address that has one is a wrong answer", async () => {
    const verdict = await act("signup", "taken", await makeSeed("signup", "signup"));
    expect(verdict).toMatchObject({ how: "false_positive", why: "an address with an account gets another one" });
  });

  test("signup: an account with another address is a wrong answer", async () => {
    const userinfo = () => ({ status: 200, body: { email: "other@example.com", email_verified: true } });
    const verdict = await act("signup", "signup", await makeSeed("signup", "signup"), { userinfo });
    expect(verdict).toMatchObject({ how: "claim_broken" });
  });

  test("recover: a mail to an address that nobody should have is a wrong answer", async () => {
    const verdict = await act("recover", "unknown", await makeSeed("recover", "recover"));
    expect(verdict).toMatchObject({ how: "false_positive", why: "an address that nobody has got a code" });
  });

  test("recover: the account of somebody else is a wrong answer", async () => {
    const seed = await makeSeed("recover", "recover");
    const verdict = await act("recover", "recover", { ...seed, sub: "somebody" });
    expect(verdict).toMatchObject({ how: "claim_broken", why: "id_token is not of whose address it is" });
  });

  test("login-mfa: a password alone is a wrong answer", async () => {
    const verdict = await act("login-mfa", "login", cast.people[0]!);
    expect(verdict).toMatchObject({ how: "false_positive", why: "a password alone signed in a person with an app" });
  });

  test("a provider that does not respond is unavailable, not wrong", async () => {
    const page = () => ({ answer: { status: 503, body: undefined }, html: "" });
    expect(await act("recover", "recover", {}, { page })).toEqual({ kind: "unavailable" });
  });
});

test.each([
  [59, "287082"],
  [1_111_111_109, "081804"],
  [20_000_000_000, "353130"],
])("RFC 6238 appendix B: the code at %i s, its last six digits", async (atSeconds, code) => {
  expect(await totpCode("GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ", atSeconds * 1000)).toBe(code);
});

test.each(["signup", "recover"] as const)("%s: every iteration has a seed of its own, in every preset", (scenario) => {
  for (const preset of presetsOf(scenario)) {
    const load = loadOf(scenario, preset, "reference");
    const shares = sharesOf(scenario, preset);
    const required = requiredSeeds(scenario, load);
    const deck = deckOf(shares);
    const used = new Set<string>();
    const warmUps = load.warmUp === undefined ? 0 : load.warmUp.rate * load.warmUp.seconds;
    const use = (iteration: number, isMeasured: boolean) => {
      const { className, rank } = cardAt(shares, deck, iteration);
      const at = isMeasured ? rank : required[className]! - 1 - rank;
      expect(used.has(`${className} ${at}`), `${preset} ${className} ${at}`).toBe(false);
      used.add(`${className} ${at}`);
    };
    for (let iteration = 0; iteration < warmUps; iteration += 1) use(iteration, false);
    for (let iteration = 0; iteration < askedRequests(load); iteration += 1) use(iteration, true);
  }
});
