/**
 * **Attackers and the owner of an account**, with the deployed lanes and buckets and simulated time. Each attacking address tries whenever a place
 * may be free, always before the owner, and has no other limit. Each mutant breaks one rule.
 */

import { clientAddress } from "@edge-op/shared/http/client-address";
import { type Lane, passwordLanes, sharedLane } from "@edge-op/shared/sessions/attempts";
import type { AttemptLane, AttemptResult } from "@edge-op/shared/sessions/session-rpc";
import { describe, expect, it } from "vitest";
import { type AttemptBucket, emptyAtMs, refund, reserveInLanes } from "../src/sessions/sign-in-attempts.ts";

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;

type Buckets = Map<string, { readonly bucket: AttemptBucket; readonly limit: AttemptLane[number]["limit"] }>;

interface Wiring {
  lanes(network: string): readonly Lane[];
  networkOf(address: string): string;
  /** The prefix of the owner's known browser. */
  readonly known: string;
  readonly takesWhenRefused?: boolean;
  /** The lane whose places a correct attempt returns. */
  returned(taken: AttemptLane, lanes: readonly AttemptLane[]): AttemptLane;
}

/** Of every address that an attack has used: each tries thousands of times. */
const networks = new Map<string, string>();

function networkOf(address: string): string {
  const known = networks.get(address);
  if (known !== undefined) return known;
  const request = new Request("https://op.example.com", { headers: { "x-forwarded-for": address } });
  const network = clientAddress({ cf: undefined, settings: { trustForwardedHeaders: true } }, request) ?? "";
  networks.set(address, network);
  return network;
}

const deployed: Wiring = {
  lanes: passwordLanes,
  networkOf,
  known: "known",
  returned: (taken) => taken,
};

/** Changes or omits the buckets of one part. */
const withParts =
  (change: (bucket: Lane[number]) => Lane[number] | undefined) =>
  (network: string): readonly Lane[] =>
    passwordLanes(network).map((lane) => lane.flatMap((bucket) => change(bucket) ?? []));
const without = (part: string) => withParts((bucket) => (bucket.part.startsWith(part) ? undefined : bucket));

const mutants: Readonly<Record<string, Wiring>> = {
  "one lane for every address": { ...deployed, lanes: () => [sharedLane] },
  "an own lane without a limit per address": { ...deployed, lanes: without("from ") },
  "an own lane without a limit of all addresses": { ...deployed, lanes: without("of all addresses") },
  "a shared lane that is as fast after a hundred failures": { ...deployed, lanes: without("sustained") },
  "addresses that are forgotten after a minute": {
    ...deployed,
    lanes: withParts(({ part, limit }) => ({
      part,
      limit: part.startsWith("from ") ? { ...limit, drainMs: minute } : limit,
    })),
  },
  "refusals that take places": { ...deployed, takesWhenRefused: true },
  "correct attempts that return the places of another lane": {
    ...deployed,
    returned: (_, lanes) => lanes.at(-1) ?? [],
  },
  "addresses of one /64 that count as many": { ...deployed, networkOf: (address) => address },
  "a known browser that counts for the account": { ...deployed, known: "account" },
};

class Account {
  readonly #buckets: Buckets = new Map();
  readonly #wiring: Wiring;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
  }

  tryFrom(address: string, isRight: boolean, atMs: number): AttemptResult {
    return this.#try("account", this.#wiring.lanes(this.#wiring.networkOf(address)), isRight, atMs);
  }

  tryInKnownBrowser(isRight: boolean, atMs: number): AttemptResult {
    return this.#try(this.#wiring.known, [sharedLane], isRight, atMs);
  }

  rows(atMs: number): number {
    return [...this.#buckets.values()].filter(({ bucket, limit }) => emptyAtMs(bucket, limit) > atMs).length;
  }

  #try(subject: string, parts: readonly Lane[], isRight: boolean, atMs: number): AttemptResult {
    const lanes = parts.map((lane) => lane.map(({ part, limit }) => ({ key: `${subject} ${part}`, limit })));
    const { result, taken } = reserveInLanes(lanes, (key) => this.#buckets.get(key)?.bucket, atMs);
    for (const { key, bucket, limit } of taken) this.#buckets.set(key, { bucket, limit });
    if (result.kind === "refused" && this.#wiring.takesWhenRefused === true) {
      for (const { key, limit } of lanes.flat()) {
        const level = (this.#buckets.get(key)?.bucket.level ?? 0) + 1;
        this.#buckets.set(key, { bucket: { level, atMs }, limit });
      }
    }
    if (result.kind === "allowed" && isRight) {
      for (const { key, limit } of this.#wiring.returned(result.lane, lanes)) {
        this.#buckets.set(key, { bucket: refund(this.#buckets.get(key)?.bucket, limit, atMs), limit });
      }
    }
    return result;
  }
}

interface Attack {
  readonly addresses: readonly string[];
  readonly days: number;
}

interface Outcome {
  /** Guesses per day. */
  readonly guesses: readonly number[];
  /** The longest that the owner waited at an address that had failed at most twice. */
  readonly longestWaitMs: number;
  readonly refusedInKnownBrowser: number;
  readonly mostRows: number;
}

/** Every five minutes, the owner signs in at a new place after up to two mistakes, at home, and in a known browser. */
function simulate(wiring: Wiring, { addresses, days }: Attack): Outcome {
  const account = new Account(wiring);
  const guesses = Array.from({ length: days }, () => 0);
  const next = addresses.map(() => 0);
  let longestWaitMs = 0;
  let refusedInKnownBrowser = 0;
  let mostRows = 0;
  const attack = (untilMs: number) => {
    for (;;) {
      const atMs = Math.min(...next);
      if (atMs > untilMs) return;
      for (const [index, address] of addresses.entries()) {
        if (next[index]! > atMs) continue;
        const result = account.tryFrom(address, false, atMs);
        if (result.kind === "allowed") guesses[Math.min(days - 1, Math.floor(atMs / day))]! += 1;
        next[index] = atMs + (result.kind === "allowed" ? 100 : Math.max(100, result.retryAfterMs));
      }
    }
  };
  const signIn = (address: string, mistakes: number, beginsAtMs: number): number => {
    let atMs = beginsAtMs;
    for (let attempt = 0; attempt <= mistakes; ) {
      attack(atMs);
      const result = account.tryFrom(address, attempt === mistakes, atMs);
      if (result.kind === "allowed") attempt += 1;
      else atMs += result.retryAfterMs;
      if (atMs - beginsAtMs > 10 * minute) break;
    }
    return atMs - beginsAtMs;
  };
  for (let visit = 0, atMs = 0; atMs < days * day; visit += 1, atMs += 5 * minute) {
    const away = `192.0.2.${visit % 200}`;
    // The same place again after 200 visits, 16 hours later, when its failures have expired.
    for (const [address, mistakes] of [[away, visit % 3] as const, ["198.51.100.1", 0] as const]) {
      const waitMs = signIn(address, mistakes, atMs);
      longestWaitMs = Math.max(longestWaitMs, waitMs);
      atMs += waitMs;
    }
    if (account.tryInKnownBrowser(true, atMs).kind === "refused") refusedInKnownBrowser += 1;
    mostRows = Math.max(mostRows, account.rows(atMs));
  }
  attack(days * day - 1);
  return { guesses, longestWaitMs, refusedInKnownBrowser, mostRows };
}

const ipv4 = (count: number) => Array.from({ length: count }, (_, index) => `203.0.${index >> 8}.${index & 255}`);
const ofOneNetwork = Array.from({ length: 500 }, (_, index) => `2001:db8:0:1::${index.toString(16)}`);
const few: Attack = { addresses: ipv4(6), days: 2 };
const attacks: readonly (readonly [name: string, attack: Attack, firstDay: number, laterDays: number])[] = [
  ["one address", { addresses: ipv4(1), days: 2 }, 397, 294],
  ["six addresses", few, 442, 324],
  ["one IPv6 network with 500 addresses", { addresses: ofOneNetwork, days: 1 }, 397, 294],
  ["100 addresses", { addresses: ipv4(100), days: 1 }, 1_288, 888],
  ["400 addresses", { addresses: ipv4(400), days: 2 }, 2_548, 1_728],
];

/** The violations of the guarantees under an attack. The owner has guessed too: two mistakes in three visits, within the same limits. */
function violations([, attack, firstDay, laterDays]: (typeof attacks)[number], outcome: Outcome): string[] {
  const [first = 0, ...later] = outcome.guesses;
  const isOwnerSafe = attack.addresses.length < 200 || attack.addresses === ofOneNetwork;
  return [
    ...(first > firstDay ? [`${first} guesses in the first day`] : []),
    ...later.filter((count) => count > laterDays).map((count) => `${count} guesses in a later day`),
    ...(isOwnerSafe && outcome.longestWaitMs > 0 ? [`the owner waited ${outcome.longestWaitMs} ms`] : []),
    ...(outcome.refusedInKnownBrowser > 0 ? ["a known browser was refused"] : []),
    ...(outcome.mostRows > 2_000 ? [`${outcome.mostRows} rows`] : []),
  ];
}

describe("NIST SP 800-63B-4 §3.2.2: attempts at a password", () => {
  it.each(attacks)("%s neither keep the owner out nor guess more than is stated", { timeout: 120_000 }, (...attack) => {
    const outcome = simulate(deployed, attack[1]);
    expect(violations(attack, outcome)).toEqual([]);
    // An attack that does not use its allowance would prove nothing.
    expect(outcome.guesses[0]).toBeGreaterThan(attack[2] * 0.7);
  });

  it.each(Object.entries(mutants))("the simulation catches %s", { timeout: 240_000 }, (_, wiring) => {
    expect(attacks.some((attack) => violations(attack, simulate(wiring, attack[1])).length > 0)).toBe(true);
  });
});
