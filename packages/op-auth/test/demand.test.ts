/** **A demand of the hook `beforeSignIn` never lowers what a flow requires**, whatever the policy, the proofs and the person are. */

import type { ProofMethod } from "@edge-op/protocol/oauth/authentication-context";
import { UnusableResult } from "@edge-op/shared/hooks/call-hook";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readVerdict } from "../src/flow/judge-sign-in.ts";
import { isDemandMet, isDemandPossible, withDemand } from "../src/flow/policy.ts";
import { nextStep } from "../src/flow/steps.ts";
import type { Flow } from "../src/step/flow.ts";
import type { Facts, Policy } from "../src/step/step.ts";

const nowMs = 1_800_000_000_000;
const methods = [
  "password",
  "syncedPasskey",
  "boundPasskey",
  "totp",
  "recoveryCode",
  "upstream",
  "upstreamMfa",
] as const;
const acrValues = ["mfa", "phr", "urn:edge-op:acr:password", "urn:edge-op:acr:upstream", "unknown"];

const anyProof = fc.record({
  method: fc.constantFrom<ProofMethod>(...methods),
  sub: fc.constant("s"),
  atMs: fc.integer({ min: nowMs - 7_200_000, max: nowMs }),
  controlVersion: fc.constant(1),
});
const anyAcr = fc.option(fc.subarray(acrValues, { minLength: 1 }), { nil: undefined });

const anyPolicy: fc.Arbitrary<Policy> = fc.record({
  prompt: fc.subarray(["login", "consent"]) as fc.Arbitrary<Policy["prompt"]>,
  maxAgeSeconds: fc.option(fc.integer({ min: 0, max: 7_200 }), { nil: undefined }),
  requiredAcr: anyAcr,
  preferredAcr: anyAcr,
  expectedSubject: fc.constantFrom(undefined, "s", "other"),
  consent: fc.constantFrom("never", "unless just signed in", "remembered", "each time"),
  secondFactor: fc.constantFrom("always", "unless remembered", "if set up"),
  confirmsBrowsers: fc.boolean(),
  recoversByAddress: fc.constant(false),
  mfaRoles: fc.subarray(["admin"]),
  asked: fc.subarray(["openid"]),
});

const anyFacts: fc.Arbitrary<Facts> = fc.record({
  person: fc.record({
    ...{ sub: fc.constant("s"), subject: fc.constant("s"), proofs: fc.array(anyProof, { minLength: 1, maxLength: 4 }) },
    ...{ roles: fc.subarray(["admin"]), isLeaving: fc.boolean() },
  }),
  factors: fc.record({
    ...{ totp: fc.boolean(), recoveryCodes: fc.boolean(), passkeys: fc.boolean(), password: fc.constant(true) },
    ...{ providers: fc.subarray(["idp"]), epoch: fc.constant(0) },
  }),
  isRemembered: fc.boolean(),
  isNewBrowser: fc.boolean(),
  allowed: fc.subarray(["openid"]),
});

const anyDemand = fc.constantFrom("mfa", "phr");
const purpose: Flow["purpose"] = { kind: "authorize", parameters: [] };

describe("a demand", () => {
  it("finishes no flow that would not be finished without it, and changes nothing but proofs that it asks for", () => {
    fc.assert(
      fc.property(anyPolicy, anyFacts, anyDemand, fc.boolean(), (policy, facts, demand, isInFlow) => {
        const flow = { purpose, proofs: isInFlow ? facts.person!.proofs : [], marks: {} };
        const demanded = withDemand(policy, demand);
        const next = nextStep(flow, facts, demanded, nowMs);
        if (next.kind === "finish") expect(nextStep(flow, facts, policy, nowMs).kind).toBe("finish");
        const { secondFactor: _, requiredAcr: __, ...others } = demanded;
        expect(policy).toMatchObject(others);
      }),
      { numRuns: 5_000 },
    );
  });

  it("is met by whoever finishes a flow in which it is in force", () => {
    fc.assert(
      fc.property(anyPolicy, anyFacts, anyDemand, (policy, facts, demand) => {
        fc.pre(isDemandPossible(policy, demand));
        const { proofs } = facts.person!;
        const next = nextStep({ purpose, proofs, marks: {} }, facts, withDemand(policy, demand), nowMs);
        const hasPassword = proofs.some(({ method }) => method === "password" || method === "upstream");
        if (next.kind === "finish" && (hasPassword || demand === "phr"))
          expect(isDemandMet(proofs, demand, 0)).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });

  it("of a passkey narrows the required `acr` and never drops it", () => {
    fc.assert(
      fc.property(anyPolicy, (policy) => {
        const { requiredAcr } = withDemand(policy, "phr");
        if (policy.requiredAcr?.every((acr) => acr !== "mfa" && acr !== "phr")) {
          expect(requiredAcr).toEqual(policy.requiredAcr);
        } else expect(requiredAcr).toEqual(["phr"]);
      }),
    );
  });
});

describe("a verdict", () => {
  it("is exactly one of three; anything else is unusable, and never an admission", () => {
    fc.assert(
      fc.property(fc.anything(), (result) => {
        try {
          const verdict = readVerdict(result);
          if (verdict === undefined) expect(result ?? undefined).toBeUndefined();
          else expect([{ refuse: true }, { require: "mfa" }, { require: "phr" }]).toContainEqual(verdict);
        } catch (error) {
          expect(error).toBeInstanceOf(UnusableResult);
        }
      }),
    );
  });

  it.each([
    [{}],
    [{ refuse: false }],
    [{ refuse: "yes" }],
    [{ require: "password" }],
    [{ require: "mfa", sub: "x" }],
    [true],
  ])("is unusable as %j", (result) => {
    expect(() => readVerdict(result)).toThrow(UnusableResult);
  });
});
