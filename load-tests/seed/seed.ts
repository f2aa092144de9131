import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DpopProofs } from "../lib/dpop-proofs.ts";
import { isPeopleScenario, type Load, readsMail, type ScenarioName } from "../lib/presets.ts";
import { requiredSeeds, type Seed, type SeedFile, seedFaults } from "../lib/seed-file.ts";
import type { Deployment } from "../lib/start-provider.ts";
import { registerIssuer } from "./identity-provider.ts";
import { inParallel } from "./in-parallel.ts";
import { type Recipe, recipesFor, waitForExpiry } from "./make-seeds.ts";
import { peopleRecipes } from "./people-seeds.ts";
import { type Cast, provideCast } from "./provision.ts";
import { verifySeeds } from "./verify-seeds.ts";

export interface SeedRequest {
  readonly scenario: ScenarioName;
  readonly load: Load;
  readonly total: number | undefined;
  readonly directory: string;
  readonly reseed: boolean;
  /** Binds the tokens to a key. */
  readonly dpop: boolean;
  /** The URL of the metadata documents for the scenario `documents`. */
  readonly documents?: string | undefined;
  readonly say: (line: string) => void;
}

/** Families and sessions expire sooner than tokens, so a file with them must be used within this time. */
const sessionSeconds = 3600;

/**
 * **Provides the seed file of a run**: the existing one while it is valid, else a new one, created through the public and admin API. An interrupted
 * seeding is continued. It succeeds only after a sample of each class has received the expected response.
 */
export async function seedFor(deployment: Deployment, request: SeedRequest): Promise<string> {
  const { scenario, load, total, directory, say } = request;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const name = request.dpop ? `${scenario}-dpop` : scenario;
  const path = join(directory, `${name}.json`);
  const required = requiredSeeds(scenario, load, total);
  const known = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as SeedFile) : undefined;
  // Rotated families are spent, as are addresses that got a mail, and a document server has another port, so each run gets new ones.
  const isSpent = scenario === "refresh" || scenario === "documents" || readsMail(scenario);
  if (known !== undefined && !request.reseed && !isSpent) {
    const faults = [...seedFaults(known, scenario, required, Date.now() / 1000 + 900), ...foreign(known, deployment)];
    if (faults.length === 0) faults.push(...(await verifySeeds(known)));
    if (faults.length === 0) return path;
    say(`seeds at hand do not do: ${faults[0]}`);
  }
  const cast = await provideCast(deployment, join(directory, "cast.json"), say);
  const partial = join(directory, `${name}.partial.jsonl`);
  const proofs = request.dpop ? new DpopProofs(deployment.issuer) : undefined;
  // The key of an interrupted seeding was not kept.
  if (request.reseed || request.dpop || scenario === "documents") rmSync(partial, { force: true });
  const recipes = isPeopleScenario(scenario)
    ? peopleRecipes(scenario, deployment, cast)
    : recipesFor(scenario, deployment.origin, cast, undefined, { proofs, documents: request.documents });
  const classes = await makeClasses(recipes, cast, required, partial, say);
  const issuer = scenario === "id-jag" ? await registerIssuer(deployment) : undefined;
  const assembled = assemble(deployment, cast, scenario, classes);
  const file: SeedFile = {
    ...assembled,
    ...(proofs === undefined ? {} : { dpopKey: proofs.privateKey }),
    ...(issuer && { identityProvider: issuer.identityProvider, clients: { agent: issuer.client } }),
  };
  const faults = await verifySeeds(file);
  if (faults.length > 0) {
    rmSync(partial, { force: true });
    throw new Error(`the seeds are not what they should be: ${faults.join("; ")}`);
  }
  writeFileSync(path, JSON.stringify(file), { mode: 0o600 });
  rmSync(partial, { force: true });
  say(`seeded and verified: ${path}`);
  return path;
}

function foreign(file: SeedFile, { origin, issuer }: Deployment): string[] {
  return file.origin === origin && file.issuer === issuer ? [] : ["they are of another provider"];
}

interface PartialLine {
  readonly tag: string;
  readonly className: string;
  readonly seed: Seed;
}

function readPartial(path: string, tag: string): Map<string, Seed[]> {
  const classes = new Map<string, Seed[]>();
  if (!existsSync(path)) return classes;
  for (const text of readFileSync(path, "utf8").split("\n").slice(0, -1)) {
    const line = JSON.parse(text) as PartialLine;
    if (line.tag === tag) classes.set(line.className, [...(classes.get(line.className) ?? []), line.seed]);
  }
  return classes;
}

async function makeClasses(
  recipes: Readonly<Record<string, Recipe>>,
  cast: Cast,
  required: Readonly<Record<string, number>>,
  partial: string,
  say: (line: string) => void,
): Promise<Record<string, Seed[]>> {
  const made = readPartial(partial, cast.tag);
  for (const [className, count] of Object.entries(required)) {
    const recipe = recipes[className]!;
    const seeds = made.get(className) ?? [];
    made.set(className, seeds);
    const missing = Array.from({ length: Math.max(0, count - seeds.length) }, (_, index) => seeds.length + index);
    let saidAtMs = Date.now();
    await inParallel(missing, recipe.atOnce, async (index) => {
      const seed = await recipe.make(index);
      seeds.push(seed);
      appendFileSync(partial, `${JSON.stringify({ tag: cast.tag, className, seed } satisfies PartialLine)}\n`, {
        mode: 0o600,
      });
      if (Date.now() - saidAtMs < 2000) return;
      saidAtMs = Date.now();
      say(`${className}: ${seeds.length} of ${count}`);
    });
    say(`${className}: ${seeds.length}`);
  }
  if (required.expired !== undefined) await waitForExpiry();
  return Object.fromEntries(made);
}

function assemble(
  deployment: Deployment,
  cast: Cast,
  scenario: ScenarioName,
  classes: Record<string, Seed[]>,
): SeedFile {
  const { origin, issuer } = deployment;
  const { clients } = cast;
  const used = {
    exchange: { gateway: clients.gateway },
    introspect: { resource: clients.resource },
    userinfo: {},
    refresh: { app: clients.web },
    silent: { app: clients.web },
    login: { app: clients.web },
    "login-mfa": { app: clients.web },
    signup: { app: clients.web },
    recover: { app: clients.web },
    documents: { app: clients.web },
    "id-jag": {},
  }[scenario];
  const nowSeconds = Math.floor(Date.now() / 1000);
  const ends = Object.entries(classes)
    .filter(([className]) => className !== "expired")
    .flatMap(([, seeds]) => seeds.map(({ exp }) => exp ?? nowSeconds + sessionSeconds));
  return {
    format: 1,
    scenario,
    origin,
    issuer,
    createdAt: new Date().toISOString(),
    validUntil: ends.reduce((least, end) => Math.min(least, end), Number.MAX_SAFE_INTEGER),
    clients: used,
    classes,
  };
}
