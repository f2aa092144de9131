/**
 * **O3 over random histories**: a person signs in by password, at a provider of the deployment and by the connections of two organisations, callbacks
 * arrive in flows of others, memberships end, time passes and sessions end. After each event, what requests for A, B, no organisation and a page
 * that writes may reach is compared with a model that knows only who has signed in how, and when. The product's own functions read, decide and
 * replace the session; each mutant changes one of them, and a history finds it. That the endpoints call them is shown by organization-proofs.test.ts.
 */

import type { Proof, Session } from "@edge-op/shared/sessions/session-rpc";
import { type PreparedSession, Sessions, storedProofs } from "@edge-op/shared/sessions/sessions";
import { type SeenSession, seenFor } from "@edge-op/shared/sessions/usable-proofs";
import { expect, it } from "vitest";
import { nextStep } from "../src/flow/steps.ts";
import { signInOf, withKnownProofs } from "../src/session/open-session.ts";
import type { SignedInPerson } from "../src/session/signed-in-person.ts";
import { type Flow, ofOrganization } from "../src/step/flow.ts";
import type { Policy } from "../src/step/step.ts";

const sub = "alice";
const lifetime = { idleMs: 1000, absoluteMs: 1000 };
const organizations = ["acme", "beta", undefined] as const;
type Organization = (typeof organizations)[number];

/** What a mutant may change. */
interface Rules {
  /** The proof of a callback, as it is added to a flow. */
  readonly prove: (proof: Proof) => Proof;
  readonly ofFlow: typeof ofOrganization;
  readonly see: (session: Session, organization: string | undefined) => SeenSession;
  readonly join: typeof withKnownProofs;
  readonly store: (prepared: PreparedSession) => readonly Proof[];
  readonly decide: typeof nextStep;
}

const product: Rules = {
  prove: (proof) => proof,
  ofFlow: ofOrganization,
  see: seenFor,
  join: withKnownProofs,
  store: storedProofs,
  decide: nextStep,
};

const shown = { withheld: [], isHidden: false };
const mutants: Readonly<Record<string, Partial<Rules>>> = {
  "a proof that does not name its organisation": {
    prove: ({ organization, ...proof }) => ({ ...proof, method: "upstream" }),
  },
  "a flow that keeps the proofs of another organisation": { ofFlow: (flow) => flow },
  "a session that is seen whole": { see: (session) => ({ session, ...shown }) },
  "a session without usable proofs that counts as a sign-in": {
    see: (session, organization) => ({ ...seenFor(session, organization), isHidden: false }),
  },
  "a session in place of another that forgets what is withheld": { store: ({ session }) => session.proofs },
  "a session in place of another that forgets what counts": { join: (signIn) => signIn },
  "proofs that are told apart by their method alone": {
    store: ({ session, withheld }) => {
      const methods = new Set(session.proofs.map(({ method }) => method));
      return [...withheld.filter(({ method }) => !methods.has(method)), ...session.proofs];
    },
  },
  "a connection that prolongs what was proven elsewhere": {
    join: (signIn, person) => ({ ...withKnownProofs(signIn, person), endsAtMs: undefined }),
  },
  "a page that writes for a connection's proof": {
    decide: (flow, facts, ...others) =>
      nextStep(
        flow,
        facts.person ? { ...facts, person: { ...facts.person, proofs: plain(facts.person.proofs) } } : facts,
        ...others,
      ),
  },
};

const plain = (proofs: readonly Proof[]) =>
  proofs.map(({ organization, ...proof }): Proof => ({ ...proof, method: "upstream" }));

/** mulberry32 */
function randomOf(seed: number): <T>(from: readonly T[]) => T {
  let state = seed;
  return (from) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return from[Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * from.length)]!;
  };
}

/** The model: when the session ends, and what it has been given. */
interface Model {
  endsAtMs: number;
  hasOwn: boolean;
  connections: Set<string>;
  members: Set<string>;
}

function policyOf(organization: Organization, isSilent: boolean): Policy {
  return {
    ...{ prompt: isSilent ? ["none"] : [], maxAgeSeconds: undefined, requiredAcr: undefined, preferredAcr: undefined },
    ...{
      expectedSubject: undefined,
      consent: "never",
      secondFactor: "if set up",
      mfaRoles: [],
    },
    ...{
      confirmsBrowsers: false,
      recoversByAddress: false,
      asked: ["openid"],
      terms: isSilent ? undefined : "2",
      organization,
    },
  };
}

/** One browser of one person. */
class World {
  readonly #rules: Rules;
  readonly #sessions = new Sessions(undefined as never);
  session: Session | undefined;
  readonly model: Model = { endsAtMs: 0, hasOwn: false, connections: new Set(), members: new Set(["acme", "beta"]) };
  nowMs = 1_000_000;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  seen(organization: Organization): SeenSession | undefined {
    const isAlive = this.session !== undefined && this.nowMs < this.session.endsAtMs;
    return isAlive ? this.#rules.see(this.session!, organization) : undefined;
  }

  /** A proof arrives in a flow for an organisation, as after a form or a callback. */
  async signIn(method: Proof["method"], ofConnection: string | undefined, organization: Organization): Promise<void> {
    const proof: Proof = { method, sub, atMs: this.nowMs, controlVersion: 1, organization: ofConnection };
    const flow = { proofs: [this.#rules.prove(proof)] } as unknown as Flow;
    const signIn = signInOf(this.#rules.ofFlow(flow, organization).proofs);
    const { model, nowMs } = this;
    const isOver = nowMs >= model.endsAtMs;
    if (isOver) Object.assign(model, { hasOwn: false, connections: new Set() });
    if (ofConnection === undefined || ofConnection === organization) {
      const end = nowMs + lifetime.absoluteMs;
      // What was proven elsewhere ends when it would have ended.
      model.endsAtMs = ofConnection !== undefined && model.hasOwn ? Math.min(end, model.endsAtMs) : end;
      if (ofConnection === undefined) model.hasOwn = true;
      else model.connections.add(ofConnection);
    }
    if (signIn === undefined) return;
    const seen = this.seen(organization);
    const person =
      seen && ({ ...seen, user: { sub }, sessionId: "ss.g1.eu.1.x", clients: [] } as unknown as SignedInPerson);
    const joined = this.#rules.join(signIn, person);
    const shard = { generation: 1, region: "eu", shard: 1 };
    const replaced = person && { id: person.sessionId, ...person };
    const context = { arrivedAtMs: nowMs } as never;
    const prepared = await this.#sessions.prepare(context, joined, lifetime, { shard, replaced });
    this.session = { ...prepared.session, proofs: this.#rules.store(prepared) };
  }

  /** `code`, or the page or error that comes first. */
  reached(organization: Organization, isSilent: boolean): string {
    const { model, nowMs } = this;
    const seen = this.seen(organization);
    const proofs = seen === undefined || seen.isHidden ? undefined : seen.session.proofs;
    const person = proofs && { sub, subject: sub, proofs, roles: [], isLeaving: false };
    const isMember = organization === undefined ? {} : { isMember: model.members.has(organization) };
    const facts = { person, factors: undefined, isRemembered: false, allowed: [], ...isMember };
    const flow = { purpose: { kind: "authorize", parameters: [] }, proofs: [], marks: {} } as const;
    const next = this.#rules.decide(flow, facts, policyOf(organization, isSilent), nowMs);
    return next.kind === "page" ? next.step.name : next.kind === "refuse" ? next.code : "code";
  }

  /** Whether the account pages are served, which ask no step. */
  isServed(): boolean {
    return this.seen(undefined)?.isHidden === false;
  }

  mayBeServed(): boolean {
    return this.nowMs < this.model.endsAtMs && this.model.hasOwn;
  }

  /** {@link reached} by the model alone. */
  mayReach(organization: Organization, isSilent: boolean): string {
    const { hasOwn, connections, endsAtMs, members } = this.model;
    const isLive = this.nowMs < endsAtMs;
    const isKnown = isLive && (hasOwn || (organization !== undefined && connections.has(organization)));
    if (!isKnown) return isSilent ? "login_required" : "sign-in";
    // The terms come before the organisation, and are the person's to agree to.
    if (!isSilent) return hasOwn ? "terms" : "sign-in";
    return organization === undefined || members.has(organization) ? "code" : "access_denied";
  }
}

/** The first difference from the model in a history; `undefined` if there is none. */
async function differs(seed: number, rules: Rules): Promise<string | undefined> {
  const pick = randomOf(seed);
  const world = new World(rules);
  const past: string[] = [];
  for (let event = 0; event < 14; event += 1) {
    world.nowMs += pick([1, 10, 300]);
    const kind = pick([
      "password",
      "upstream",
      "connection",
      "connection",
      "connection",
      "astray",
      "member",
      "sign out",
    ]);
    const organization = pick(organizations);
    const own = pick(["acme", "beta"] as const);
    past.push(`${kind} ${kind === "connection" ? own : organization}`);
    if (kind === "password" || kind === "upstream") await world.signIn(kind, undefined, organization);
    else if (kind === "connection") await world.signIn(kind, own, own);
    else if (kind === "astray") await world.signIn("connection", own, organization);
    else if (kind === "member" && !world.model.members.delete(own)) world.model.members.add(own);
    else if (kind === "sign out" && pick([0, 1]) === 1) {
      world.session = undefined;
      Object.assign(world.model, { endsAtMs: 0, hasOwn: false, connections: new Set() });
    }
    const [isServed, mayBeServed] = [world.isServed(), world.mayBeServed()];
    if (isServed !== mayBeServed) return `${past.join(", ")}: the account pages ${isServed ? "are" : "are not"} served`;
    for (const asked of organizations) {
      for (const isSilent of [true, false]) {
        const [is, may] = [world.reached(asked, isSilent), world.mayReach(asked, isSilent)];
        if (is !== may) return `${past.join(", ")}: ${asked} ${isSilent ? "silently" : "with pages"} ${is}, not ${may}`;
      }
    }
  }
  return undefined;
}

it("O3: no history reaches more or less than the model", async () => {
  for (let seed = 1; seed <= 2000; seed += 1) expect(await differs(seed, product)).toBeUndefined();
});

it.each(Object.entries(mutants))("a history finds %s", async (_, mutant) => {
  let found: string | undefined;
  for (let seed = 1; seed <= 500 && found === undefined; seed += 1)
    found = await differs(seed, { ...product, ...mutant });
  expect(found).toBeDefined();
});
