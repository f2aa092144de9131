import type { ScenarioName } from "./presets.ts";

/**
 * **The classes of each scenario and their shares**, per mille of the iterations: the requests, and the expected responses. One
 * table for seeding, the k6 scenarios and the report.
 */
export const classShares: Readonly<Record<ScenarioName, Readonly<Record<string, number>>>> = {
  exchange: { valid: 560, delegation: 140, expired: 100, invalid_signature: 100, revoked: 100 },
  introspect: { valid: 600, exchanged: 50, expired: 120, revoked: 120, wrong_audience: 60, wrong_client: 50 },
  /** The reference has only `rotate`; the other classes imitate real networks and thieves. */
  refresh: { rotate: 965, lost_response: 20, duplicate: 10, stolen: 5 },
  userinfo: { valid: 1000 },
  silent: { session: 1000 },
  login: { login: 1000 },
  "login-mfa": { login: 800, wrong_code: 100, replayed: 100 },
  /** `taken`: of an address that has an account. */
  signup: { signup: 800, wrong_code: 100, taken: 100 },
  /** `unknown`: of an address that nobody has. */
  recover: { recover: 800, wrong_code: 100, unknown: 100 },
  /** Clients with a metadata document that is cached, with one that was never fetched, and registered ones. */
  documents: { registered: 400, warm: 500, cold: 100 },
  "id-jag": { once: 800, twice: 150, forged: 50 },
};

/** A smoke run is too short for a rare class to occur by its share. */
const smokeShares: Readonly<Partial<typeof classShares>> = {
  refresh: { rotate: 700, lost_response: 100, duplicate: 100, stolen: 100 },
};

export function sharesOf(scenario: ScenarioName, preset: string): Readonly<Record<string, number>> {
  return (preset === "smoke" ? smokeShares[scenario] : undefined) ?? classShares[scenario];
}

export function classesOf(scenario: ScenarioName): string[] {
  return Object.keys(classShares[scenario]);
}

const deckSize = 1000;
/** Coprime to the deck's size, so that the classes are spread evenly and any hundred iterations contain nearly their exact share. */
const stride = 619;

/** The content of an iteration: its class, and the number of earlier cards of that class in the deck. */
export interface Card {
  readonly className: string;
  readonly rank: number;
}

/** A fixed deck instead of random numbers, so that every run sends exactly the mix. */
export function deckOf(shares: Readonly<Record<string, number>>): Card[] {
  const dealt = new Map<string, number>();
  return Array.from({ length: deckSize }, (_, position) => {
    const className = classAt(shares, (position * stride) % deckSize);
    const rank = dealt.get(className) ?? 0;
    dealt.set(className, rank + 1);
    return { className, rank };
  });
}

function classAt(shares: Readonly<Record<string, number>>, slot: number): string {
  let left = slot;
  for (const [name, share] of Object.entries(shares)) {
    if (left < share) return name;
    left -= share;
  }
  throw new Error(`the shares of ${Object.keys(shares).join(", ")} are not ${deckSize} per mille`);
}

/** How many of the first iterations are of a class. */
export function cardsOf(className: string, shares: Readonly<Record<string, number>>, iterations: number): number {
  const rest = deckOf(shares).slice(0, iterations % deckSize);
  const inRest = rest.filter((card) => card.className === className).length;
  return Math.floor(iterations / deckSize) * shares[className]! + inRest;
}

/** The card of an iteration, with a rank that continues from deck to deck, so that no two iterations of a class share one. */
export function cardAt(shares: Readonly<Record<string, number>>, deck: ArrayLike<Card>, iteration: number): Card {
  const { className, rank } = deck[iteration % deckSize]!;
  return { className, rank: Math.floor(iteration / deckSize) * shares[className]! + rank };
}
