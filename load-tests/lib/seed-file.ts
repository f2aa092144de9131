import { cardsOf, classesOf, sharesOf } from "./classes.ts";
import { askedRequests, isPeopleScenario, type Load, type PeopleScenario, type ScenarioName } from "./presets.ts";

/**
 * **The seeds of a run**, created by `seed/` through the provider's public and admin API: the clients, and for each class the
 * requests and the expected responses. One JSON file per scenario; it contains secrets.
 */
export interface SeedFile {
  readonly format: 1;
  readonly scenario: ScenarioName;
  readonly origin: string;
  readonly issuer: string;
  readonly createdAt: string;
  /** Seconds since the epoch; every seed stays valid until then. */
  readonly validUntil: number;
  readonly clients: Readonly<Record<string, SeedClient>>;
  readonly classes: Readonly<Record<string, readonly Seed[]>>;
  /** The private P-256 key to which the tokens are bound; absent without DPoP. */
  readonly dpopKey?: PrivateKey;
  /** The trusted issuer whose ID-JAGs a run signs. */
  readonly identityProvider?: IdentityProvider;
}

/** A trusted issuer and its P-256 key. */
export interface IdentityProvider {
  readonly issuer: string;
  readonly key: PrivateKey;
  readonly resource: string;
  readonly scope: string;
}

/** A private P-256 JWK. */
export interface PrivateKey {
  readonly kty: string;
  readonly crv: string;
  readonly x: string;
  readonly y: string;
  readonly d: string;
}

export interface SeedClient {
  readonly client_id: string;
  readonly client_secret: string;
  readonly redirect_uri?: string;
}

/** The members that the class needs. */
export interface Seed {
  readonly token?: string;
  readonly sub?: string;
  readonly scope?: string;
  readonly client_id?: string;
  readonly jti?: string;
  readonly exp?: number;
  readonly aud?: readonly string[];
  readonly resource?: readonly string[];
  /** `sub` of the outermost actor. */
  readonly actor?: string;
  readonly cookie?: string;
  readonly username?: string;
  readonly password?: string;
  /** An email address. */
  readonly address?: string;
  /** The key of an authenticator app, as a page shows it. */
  readonly appKey?: string;
}

/** The number of tokens in the published runs (their cached introspection run used 500). */
const publishedTotals: Readonly<Record<Exclude<ScenarioName, PeopleScenario>, number>> = {
  exchange: 1000,
  introspect: 3000,
  refresh: 0,
  userinfo: 4000,
  silent: 500,
  login: 100,
  documents: 40,
  "id-jag": 100,
};
const smokeTotal = 100;

/** The actors of delegation: one token for each of the five services. */
export const actorNames = [
  "service-gateway",
  "service-bff",
  "service-worker",
  "service-scheduler",
  "service-notifier",
] as const;

/** The number of seeds of each class that a run needs. Fewer abort it; seeds of one class are never used for another. */
export function requiredSeeds(scenario: ScenarioName, load: Load, total?: number): Record<string, number> {
  const shares = sharesOf(scenario, load.preset);
  if (scenario === "refresh") {
    // A family per virtual user, including those of the warm-up, and a fresh one per theft, which ends it.
    const thefts = Math.ceil((askedRequests(load) * shares.stolen!) / 1000);
    return { family: load.maxVus + warmUpVus(load), stolen: thefts + 5 };
  }
  if (isPeopleScenario(scenario)) return peopleSeeds(scenario, load, shares);
  const wanted =
    total ?? (load.preset === "smoke" ? Math.min(smokeTotal, publishedTotals[scenario]) : publishedTotals[scenario]);
  const required = classesOf(scenario).map((name): [string, number] => [
    name,
    Math.max(1, Math.round((wanted * shares[name]!) / 1000)),
  ]);
  return { ...Object.fromEntries(required), ...(scenario === "exchange" ? { actor: actorNames.length } : {}) };
}

/** A person's app shows another code after 30 seconds. */
const appSeconds = 40;

/** One for each iteration, those of the warm-up included; people who sign in with an app are used again. */
function peopleSeeds(
  scenario: PeopleScenario,
  load: Load,
  shares: Readonly<Record<string, number>>,
): Record<string, number> {
  const warmUps = load.warmUp === undefined ? 0 : load.warmUp.rate * load.warmUp.seconds;
  const asked = askedRequests(load);
  const usedAgain = (name: string) => scenario === "login-mfa" && name === "login";
  return Object.fromEntries(
    Object.keys(shares).map((name) => {
      const measured = usedAgain(name) ? Math.min(asked, load.rate * appSeconds) : asked;
      // A ramp may start an iteration more than its area.
      return [name, cardsOf(name, shares, measured) + cardsOf(name, shares, warmUps) + 2];
    }),
  );
}

export function warmUpVus(load: Load): number {
  return load.warmUp === undefined ? 0 : Math.ceil(load.warmUp.rate * 1.5);
}

/** The reasons why a seed file cannot be used for a run; empty if it can. */
export function seedFaults(
  file: SeedFile,
  scenario: ScenarioName,
  required: Readonly<Record<string, number>>,
  runEndsAt: number,
): string[] {
  const faults: string[] = [];
  if (file.format !== 1) faults.push(`its format is ${String(file.format)}, not 1`);
  if (file.scenario !== scenario) faults.push(`it was made for ${file.scenario}`);
  for (const [name, needed] of Object.entries(required)) {
    const held = file.classes?.[name]?.length ?? 0;
    if (held < needed) faults.push(`it holds ${held} of ${needed} seeds of class ${name}`);
  }
  if (file.validUntil < runEndsAt) faults.push("its tokens expire before the run ends");
  return faults;
}
