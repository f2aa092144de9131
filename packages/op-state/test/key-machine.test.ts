import { isEncryptionAlgorithm, keyAlgorithms, usualKeyAlgorithms } from "@edge-op/protocol/jwt/key-algorithms";
import { isolateMemory, limits } from "@edge-op/shared/config/limits";
import {
  announceMs,
  isPublished,
  isVerifying,
  keyState,
  keyTiming,
  type ScheduledKey,
  signingKey,
  stateWithin,
  verifyMs,
} from "@edge-op/shared/keys/key-schedule";
import { heapBytes } from "@edge-op/shared/runtime/isolate-cache";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  findViolations,
  keysAtMost,
  planExtension,
  planRevocation,
  planRotation,
  rotationPossibleFromMs,
  type SchedulePlan,
} from "../src/keys/key-machine.ts";

const hour = 3_600_000;
const start = 1_000_000_000_000;

/**
 * A schedule of a deployment that uses every algorithm, with all of its changes and their times, to determine the copy of an isolate that lags
 * behind.
 */
class Life {
  atMs = start;
  keys: readonly ScheduledKey[] = [];
  readonly history: { readonly fromMs: number; readonly keys: readonly ScheduledKey[] }[] = [];
  readonly revoked = new Set<string>();
  #made = 0;

  apply({ keep, make }: SchedulePlan): void {
    const made = make.map((times): ScheduledKey => {
      this.#made += 1;
      return { ...times, kid: `k${this.#made}`, publicJwk: { kty: "EC" }, wrappedPrivateKey: "" };
    });
    this.keys = [...keep, ...made];
    this.history.push({ fromMs: this.atMs, keys: this.keys });
  }

  extend(): void {
    this.apply(planExtension(this.keys, this.atMs, keyAlgorithms));
  }

  /** The copy of an isolate that lags by this time, but receives every emergency at once. */
  heldBy(lagMs: number): readonly ScheduledKey[] {
    const heard = this.history.filter(({ fromMs }) => fromMs <= this.atMs - lagMs).at(-1) ?? this.history[0]!;
    return heard.keys.filter(({ kid }) => !this.revoked.has(kid));
  }
}

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      waitMs: fc.oneof(
        fc.integer({ min: 0, max: 24 * 20 }).map((hours) => hours * hour),
        fc.nat(120_000),
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("rotate" as const), alg: fc.constantFrom(...keyAlgorithms) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("revoke" as const), index: fc.nat(20) }) },
);

function take(life: Life, action: typeof step extends fc.Arbitrary<infer T> ? T : never): void {
  switch (action.kind) {
    case "wait": {
      // KeyManager's alarm checks at least once a day.
      const untilMs = life.atMs + action.waitMs;
      while (life.atMs < untilMs) {
        life.atMs = Math.min(untilMs, life.atMs + 24 * hour);
        life.extend();
      }
      return;
    }
    case "rotate":
      life.extend();
      life.apply(planRotation(life.keys, action.alg, life.atMs));
      return;
    case "revoke": {
      life.extend();
      const kid = life.keys[action.index % life.keys.length]!.kid;
      life.apply(planRevocation(life.keys, kid, life.atMs));
      life.revoked.add(kid);
      expect(life.keys.some((key) => key.kid === kid)).toBe(false);
    }
  }
}

function holds(life: Life): void {
  expect(findViolations(life.keys)).toEqual([]);
  for (const alg of keyAlgorithms) {
    const states = life.keys.filter((key) => key.alg === alg).map((key) => keyState(key, life.atMs));
    expect(states).toContain("active");
    const announced = states.filter((state) => state === "announced").length;
    expect(announced).toBeGreaterThanOrEqual(1);
    expect(announced).toBeLessThanOrEqual(4);
    expect(states).not.toContain("gone");
    const shown = life.keys.filter((key) => key.alg === alg);
    const signing = shown.filter((key) => stateWithin({ keys: life.keys, revision: 0 }, key, life.atMs) === "active");
    expect(signing).toHaveLength(1);
    // KeyManager may be unreachable from now on: for weeks, there is always a signing key.
    for (let days = 0; days <= 28; days += 1) {
      expect(signingKey({ keys: life.keys, revision: 0 }, alg, life.atMs + days * 24 * hour)).toBeDefined();
    }
  }
}

it("K1, K2, K3: no sequence of events breaks them, and there is always one signing and one announced key", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const life = new Life();
      life.extend();
      holds(life);
      for (const action of steps) {
        take(life, action);
        holds(life);
      }
    }),
    { numRuns: 300 },
  );
});

it("K1: a token signed by any isolate with a timely schedule verifies at every other isolate until it expires", () => {
  const lag = fc.integer({ min: 0, max: announceMs - keyTiming.skewMs });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 20 }),
      lag,
      lag,
      fc.nat(24),
      (steps, signerLagMs, readerLagMs, laterHours) => {
        const life = new Life();
        life.extend();
        life.atMs += 2 * announceMs;
        for (const action of steps) {
          take(life, action);
          for (const alg of keyAlgorithms) {
            const signer = signingKey({ keys: life.heldBy(signerLagMs), revision: 0 }, alg, life.atMs);
            // After an emergency, a lagging isolate may have no key: it requests a new schedule before it signs (K5).
            if (signer === undefined || life.revoked.size > 0) continue;
            const reader = life.heldBy(readerLagMs).find(({ kid }) => kid === signer.kid);
            expect(reader !== undefined && isVerifying(reader, life.atMs)).toBe(true);
            const laterMs = life.atMs + Math.min(laterHours * hour, verifyMs - keyTiming.skewMs);
            const later = planExtension(life.keys, laterMs).keep.find(({ kid }) => kid === signer.kid);
            expect(later !== undefined && isVerifying(later, laterMs)).toBe(true);
          }
        }
      },
    ),
  );
});

it("rotations in quick succession announce a key each, at most four, and a day later one is left", () => {
  const life = new Life();
  life.extend();
  const kids = () => life.keys.filter(({ alg }) => alg === "ES256").map(({ kid }) => kid);
  const counts: number[] = [];
  for (let rotation = 0; rotation < 5; rotation += 1) {
    take(life, { kind: "rotate", alg: "ES256" });
    holds(life);
    counts.push(kids().length);
  }
  expect(counts).toEqual([3, 4, 5, 5, 5]);
  const signing = () => signingKey({ keys: life.keys, revision: 0 }, "ES256", life.atMs)?.kid;
  const first = signing();
  life.atMs += announceMs;
  expect(signing()).not.toBe(first);
  const before = kids();
  take(life, { kind: "rotate", alg: "ES256" });
  expect(kids().filter((kid) => !before.includes(kid))).toHaveLength(1);
  take(life, { kind: "wait", waitMs: 48 * hour });
  const announced = life.keys.filter((key) => key.alg === "ES256" && keyState(key, life.atMs) === "announced");
  expect(announced).toHaveLength(1);
});

it("K3: a plan only changes times, never a key or an algorithm, and moves no retirement forward", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 25 }), (steps) => {
      const life = new Life();
      life.extend();
      for (const action of steps) {
        const before = new Map(life.keys.map((key) => [key.kid, key]));
        take(life, action);
        for (const key of life.keys) {
          const known = before.get(key.kid);
          if (known === undefined) continue;
          expect([key.alg, key.publicJwk, key.wrappedPrivateKey]).toEqual([
            known.alg,
            known.publicJwk,
            known.wrappedPrivateKey,
          ]);
          expect(key.publishAtMs).toBe(known.publishAtMs);
          if (!isEncryptionAlgorithm(key.alg)) expect(key.retireAtMs).toBeGreaterThanOrEqual(known.retireAtMs);
        }
      }
    }),
  );
});

const soundTimes = {
  alg: "ES256" as const,
  publishAtMs: start,
  signFromMs: start + announceMs,
  signUntilMs: start + announceMs + keyTiming.signMs,
  retireAtMs: start + announceMs + keyTiming.signMs + verifyMs,
};
const predecessor = { ...soundTimes, kid: "old", publishAtMs: start - hour, signFromMs: start };

it.each([
  [
    "K1: a key that signs before it is known",
    { signFromMs: start + announceMs - 1 },
    "K1 new: signs before it is known",
  ],
  [
    "K2: a key that retires while its tokens live",
    { retireAtMs: soundTimes.retireAtMs - 1 },
    "K2 new: retires while its tokens live",
  ],
  ["a key that signs before it is published", { publishAtMs: start + announceMs + 1 }, "new: times out of order"],
  ["a key that never signs", { signUntilMs: soundTimes.signFromMs }, "new: times out of order"],
])("%s is a violation", (_, times, violation) => {
  expect(findViolations([predecessor, { ...soundTimes, kid: "new" }])).toEqual([]);
  expect(findViolations([predecessor, { ...soundTimes, kid: "new", ...times }])).toContain(violation);
});

it("K3: a repeated kid is a violation", () => {
  expect(findViolations([predecessor, predecessor])).toContain("K3: a kid twice");
});

it("ADR 6: keys of other than the usual algorithms are created when needed, and then maintained", () => {
  const algorithms = ({ keep, make }: SchedulePlan) => new Set([...keep, ...make].map(({ alg }) => alg));
  const life = new Life();
  expect(algorithms(planExtension([], start))).toEqual(new Set(usualKeyAlgorithms));
  life.apply(planExtension([], start, ["PS256"]));
  expect(life.keys.filter(({ alg }) => alg === "PS256")).toHaveLength(2);
  expect(algorithms(planExtension(life.keys, start + 40 * 24 * hour))).toContain("PS256");
  // The last key of an algorithm is revoked: another one exists immediately.
  for (const { kid } of life.keys.filter(({ alg }) => alg === "PS256")) {
    life.apply(planRevocation(life.keys, kid, start));
  }
  expect(signingKey({ keys: life.keys, revision: 0 }, "PS256", start)).toBeDefined();
});

it("ADR 6: an encryption key that is replaced early decrypts for exactly a day after it was last published", () => {
  const life = new Life();
  life.extend();
  const old = signingKey({ keys: life.keys, revision: 0 }, "ECDH-ES", start)!;
  life.atMs += 24 * hour;
  take(life, { kind: "rotate", alg: "ECDH-ES" });
  const replaced = life.keys.find(({ kid }) => kid === old.kid)!;
  expect(replaced.signUntilMs).toBe(life.atMs + keyTiming.overlapMs);
  expect(replaced.retireAtMs).toBe(replaced.signUntilMs + verifyMs);
  // Every cache of the key set, and the maximum lifetime of a request object.
  expect(verifyMs).toBeGreaterThan(announceMs + limits.requestObjectLifetimeSeconds * 1000);
  const at = (atMs: number) => [isPublished(replaced, atMs), isVerifying(replaced, atMs)];
  expect(at(replaced.signUntilMs - 1)).toEqual([true, true]);
  expect(at(replaced.signUntilMs)).toEqual([false, true]);
  expect(at(replaced.retireAtMs)).toEqual([false, false]);
  const next = signingKey({ keys: life.keys, revision: 0 }, "ECDH-ES", life.atMs)!;
  expect([isPublished(next, next.signFromMs - 1), isVerifying(next, next.signFromMs - 1)]).toEqual([false, true]);
});

it("K1: the durations cover every cache between KeyManager and a relying party", () => {
  expect(announceMs).toBe(1_020_000);
  expect(announceMs - keyTiming.skewMs).toBeGreaterThanOrEqual(
    2 * Math.max(300_000, keyTiming.isolateTtlMs, keyTiming.kvStalenessMs),
  );
  expect(verifyMs).toBe(86_460_000);
});

const rsaAlgorithms: readonly string[] = ["RS256", "PS256", "RSA-OAEP-256"];

it("the schedule of an operator who rotates every algorithm daily for a year fits into its share of an isolate", () => {
  const life = new Life();
  life.extend();
  let most = 0;
  for (let day = 0; day < 365; day += 1) {
    life.atMs += 24 * hour;
    life.extend();
    for (const alg of keyAlgorithms) life.apply(planRotation(life.keys, alg, life.atMs));
    // In stored form: an RSA key of 2048 bits is the largest. Each is imported, the signing ones twice.
    const stored = life.keys.map((key) => ({
      ...key,
      publicJwk: { kty: "RSA", e: "AQAB", n: "n".repeat(342) },
      wrappedPrivateKey: "w".repeat(rsaAlgorithms.includes(key.alg) ? 1_700 : 250),
    }));
    const importedBytes = 2_048 * (stored.length + 3 * keyAlgorithms.length);
    most = Math.max(most, heapBytes(stored) + importedBytes);
  }
  expect(most).toBeGreaterThan(0.2 * isolateMemory.signingKeys);
  expect(most).toBeLessThanOrEqual(isolateMemory.signingKeys);
});

it("a rotation every sixteen minutes for two months: the schedule stays bounded, and rotations become possible again", () => {
  const life = new Life();
  life.extend();
  let rotations = 0;
  let refusals = 0;
  for (; life.atMs < start + 60 * 24 * hour; life.atMs += announceMs) {
    life.extend();
    if (rotationPossibleFromMs(life.keys, life.atMs) === undefined) {
      life.apply(planRotation(life.keys, "ES256", life.atMs));
      rotations += 1;
    } else refusals += 1;
    // Besides these, only the keys that every algorithm always needs.
    expect(life.keys.length).toBeLessThanOrEqual(keysAtMost + 2 * keyAlgorithms.length);
  }
  expect(rotations).toBeGreaterThan(keysAtMost / 2);
  expect(refusals).toBeGreaterThan(rotations);
  expect(findViolations(life.keys)).toEqual([]);
});

it("a refused rotation returns the time from which it is possible", () => {
  const life = new Life();
  life.extend();
  let possibleFromMs: number | undefined;
  for (; possibleFromMs === undefined; life.atMs += announceMs) {
    life.extend();
    life.apply(planRotation(life.keys, "ES256", life.atMs));
    possibleFromMs = rotationPossibleFromMs(life.keys, life.atMs);
  }
  expect(rotationPossibleFromMs(life.keys, possibleFromMs - 1)).toBe(possibleFromMs);
  expect(rotationPossibleFromMs(life.keys, possibleFromMs)).toBeUndefined();
});
