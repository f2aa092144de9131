/**
 * **O5 over random histories**: two organisations with the same domain, resolvers that fail, and one of which may forge; requests that overlap; the
 * owner of the domain changes its records at any time. Each broken rule must be noticed. Hostile cases:
 *
 * | Case | Test |
 * | --- | --- |
 * | an expired domain is bought by a stranger, who proves it | "… contested", the mutants `lapsedIsFree`, `proofTransfers` |
 * | a forged answer of one resolver; no answer for an hour | the mutants `oneResolver`, `failureIsAbsence` |
 * | two requests at the same time | the mutant `writesBlindly` |
 */

import { describe, expect, it } from "vitest";
import {
  type Answer,
  absentMs,
  afterDecision,
  afterLookUp,
  agree,
  type DomainClaim,
  isHeld,
} from "../src/organizations/domain-rule.ts";

const day = 86_400_000;
type Rule = { readonly lookUp: typeof afterLookUp; readonly agree: typeof agree; readonly comparesVersions: boolean };
const right: Rule = { lookUp: afterLookUp, agree, comparesVersions: true };

/** Numbers from 0 to 1, the same for a seed (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Running {
  readonly orgId: string;
  readonly read: readonly DomainClaim[];
  readonly answers: Map<string, Answer>;
  /** What was true at some time since the request began. */
  readonly seen: Set<string>;
}

const organizations = ["a", "b"];

/** A history; the first violation of the invariants, if there is one. */
function violationOf(rule: Rule, seed: number): string | undefined {
  const next = random(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)]!;
  const claims = new Map<string, DomainClaim>();
  const records = new Set<string>();
  /** The first time at which the record was absent since the domain became verified. */
  const absentFrom = new Map<string, number>();
  const removedAt = new Map<string, number>();
  let running: Running[] = [];
  let holder: string | undefined;
  let atMs = 1;

  const show = () => organizations.map((orgId) => `${records.has(orgId) ? "present" : "absent"} ${orgId}`);
  const ask = (orgId: string): Answer => {
    const truth: Answer = records.has(orgId) ? "present" : "absent";
    const forger = next() < 0.3 ? Math.floor(next() * 2) : -1;
    const answers = [0, 1].map((resolver): Answer => {
      if (resolver === forger) return pick(["present", "absent"] as const);
      return next() < 0.2 ? "unknown" : truth;
    });
    return rule.agree(answers);
  };

  const write = (changed: readonly DomainClaim[], decides: boolean, seen: ReadonlySet<string>): string | undefined => {
    for (const claim of changed) {
      const before = claims.get(claim.orgId)?.state;
      claims.set(claim.orgId, claim);
      if (claim.state === "verified" && before !== "verified") {
        if (!decides && holder !== undefined && holder !== claim.orgId) return `moved from ${holder} to ${claim.orgId}`;
        if (!decides && !seen.has(`present ${claim.orgId}`)) return `${claim.orgId} verified without its record`;
        holder = claim.orgId;
        absentFrom.delete(claim.orgId);
        if (!records.has(claim.orgId)) absentFrom.set(claim.orgId, removedAt.get(claim.orgId) ?? 0);
      }
      if (claim.state === "contested" && before === "verified" && !seen.has(`absent ${claim.orgId}`)) {
        return `${claim.orgId} contested although its record is there`;
      }
      const absence = absentFrom.get(claim.orgId);
      if (claim.state === "lapsed" && before === "verified" && (absence === undefined || atMs - absence < absentMs)) {
        return `${claim.orgId} lapsed too early`;
      }
    }
    const verified = [...claims.values()].filter(({ state }) => state === "verified");
    return verified.length > 1 ? "verified twice" : undefined;
  };

  for (let turn = 0; turn < 120; turn += 1) {
    atMs += Math.floor(next() * 9 * day);
    const orgId = pick(organizations);
    const action = next();
    if (action < 0.2) {
      if (!records.delete(orgId)) records.add(orgId);
      else {
        removedAt.set(orgId, atMs);
        if (!absentFrom.has(orgId)) absentFrom.set(orgId, atMs);
      }
      for (const { seen } of running) for (const fact of show()) seen.add(fact);
    } else if (action < 0.3) {
      claims.set(
        orgId,
        claims.get(orgId) ?? {
          orgId,
          state: "pending",
          checkedAtMs: 0,
          verifiedAtMs: undefined,
          absentSinceMs: undefined,
        },
      );
    } else if (action < 0.33) {
      claims.delete(orgId);
      if (holder === orgId) holder = undefined;
    } else if (action < 0.4) {
      const own = claims.get(orgId);
      if (own?.state !== "contested") continue;
      const others = [...claims.values()].filter((claim) => claim.orgId !== orgId);
      const fault = write(afterDecision(own, others, atMs), true, new Set());
      if (fault !== undefined) return fault;
    } else if (action < 0.7) {
      if (!claims.has(orgId)) continue;
      const answers = new Map(organizations.map((each) => [each, ask(each)]));
      running.push({ orgId, read: [...claims.values()], answers, seen: new Set(show()) });
    } else if (running.length > 0) {
      const request = pick(running);
      running = running.filter((other) => other !== request);
      const own = request.read.find((claim) => claim.orgId === request.orgId)!;
      const others = request.read.filter((claim) => claim.orgId !== request.orgId);
      const isCurrent = [own, ...others.filter(isHeld)].every(
        (claim) =>
          claims.get(claim.orgId)?.state === claim.state && claims.get(claim.orgId)?.checkedAtMs === claim.checkedAtMs,
      );
      const nobodyNew = [...claims.values()].every(
        (claim) =>
          claim.orgId === own.orgId ||
          !isHeld(claim) ||
          others.some((other) => other.orgId === claim.orgId && isHeld(other)),
      );
      if (rule.comparesVersions && !(isCurrent && nobodyNew)) continue;
      const answer = request.answers.get(own.orgId)!;
      const asked = others.map((claim) => ({ claim, answer: request.answers.get(claim.orgId)! }));
      const outcome = rule.lookUp(own, answer, asked, atMs);
      const fault = outcome.kind === "held" ? undefined : write(outcome.claims, false, request.seen);
      if (fault !== undefined) return fault;
    }
  }
  return undefined;
}

const mutants: Readonly<Record<string, Rule>> = {
  oneResolver: { ...right, agree: ([first]) => first ?? "unknown" },
  failureIsAbsence: {
    ...right,
    lookUp: (own, answer, others, atMs) => afterLookUp(own, answer === "unknown" ? "absent" : answer, others, atMs),
  },
  lapsedIsFree: {
    ...right,
    lookUp: (own, answer, others, atMs) =>
      afterLookUp(
        own,
        answer,
        others.filter(({ claim }) => claim.state !== "lapsed"),
        atMs,
      ),
  },
  holderNotAsked: {
    ...right,
    lookUp: (own, answer, others, atMs) =>
      afterLookUp(
        own,
        answer,
        others.map(({ claim }) => ({ claim, answer: "absent" })),
        atMs,
      ),
  },
  proofTransfers: {
    ...right,
    lookUp: (own, answer, others, atMs) => {
      const outcome = afterLookUp(own, answer, others, atMs);
      if (outcome.kind === "held" || outcome.claims.length < 2) return outcome;
      return {
        kind: "changed",
        claims: outcome.claims.map((claim) => (claim.orgId === own.orgId ? { ...claim, state: "verified" } : claim)),
      };
    },
  },
  lapsesAtOnce: {
    ...right,
    lookUp: (own, answer, others, atMs) =>
      afterLookUp({ ...own, absentSinceMs: own.absentSinceMs ?? 0 }, answer, others, atMs),
  },
  writesBlindly: { ...right, comparesVersions: false },
};

const seeds = Array.from({ length: 3_000 }, (_, index) => index + 1);

describe("O5", () => {
  it("a domain is verified for one organisation, and moves by a decision only", () => {
    for (const seed of seeds) expect([seed, violationOf(right, seed)]).toEqual([seed, undefined]);
  });

  it.each(Object.entries(mutants))("%s is noticed", (_name, rule) => {
    expect(seeds.some((seed) => violationOf(rule, seed) !== undefined)).toBe(true);
  });

  it("a second proof is refused while the first one stands, and makes the domain contested when that is gone", () => {
    const claim = (orgId: string, state: DomainClaim["state"]): DomainClaim => ({
      ...{ orgId, state, checkedAtMs: 5, verifiedAtMs: undefined, absentSinceMs: undefined },
    });
    const second = (state: DomainClaim["state"], answer: Answer) =>
      afterLookUp(claim("b", "pending"), "present", [{ claim: claim("a", state), answer }], 9);
    expect([second("verified", "present").kind, second("verified", "unknown").kind]).toEqual(["held", "held"]);
    for (const state of ["verified", "contested", "lapsed"] as const) {
      const outcome = second(state, "absent");
      expect(outcome).toMatchObject({
        claims: [
          { orgId: "a", state: "contested" },
          { orgId: "b", state: "contested" },
        ],
      });
    }
    expect(second("pending", "present")).toMatchObject({ claims: [{ orgId: "b", state: "verified" }] });
  });
});
