/**
 * **The settings of a k6 run, given by `-e`**: PRESET (smoke), SHAPE (reference), SEEDS (a file or its URL), ORIGIN (the provider's address, if it
 * differs from the seeds'), SEED_TOTAL, RESULT (the path of the summary), REFRESH_GRACE (the provider's).
 */

import { SharedArray } from "k6/data";
import http from "k6/http";
import { type Card, deckOf, sharesOf } from "./classes.ts";
import { type Load, loadOf, type ScenarioName, type Shape, shapes } from "./presets.ts";
import type { IdentityProvider, PrivateKey, Seed, SeedClient, SeedFile } from "./seed-file.ts";

export function readLoad(scenario: ScenarioName): Load {
  const shape = shapes.find((name) => name === (__ENV["SHAPE"] ?? "reference"));
  if (shape === undefined) throw new Error(`SHAPE must be one of ${shapes.join(", ")}`);
  return loadOf(scenario, __ENV["PRESET"] ?? "smoke", shape satisfies Shape);
}

/** How long the provider accepts a retried refresh, in milliseconds: its `REFRESH_GRACE`, 30 s by default. */
export function readGraceMs(): number {
  return Number(__ENV["REFRESH_GRACE"] ?? "30") * 1000;
}

export function readSeedTotal(): number | undefined {
  const text = __ENV["SEED_TOTAL"];
  return text === undefined || text === "" ? undefined : Number(text);
}

/** Seeds for virtual users: shared memory for a file, a copy each for a URL. */
export interface Seeds {
  readonly origin: string;
  readonly issuer: string;
  readonly clients: Readonly<Record<string, SeedClient>>;
  readonly classes: Readonly<Record<string, ArrayLike<Seed>>>;
  readonly dpopKey?: PrivateKey;
  readonly identityProvider?: IdentityProvider;
}

type Head = Omit<SeedFile, "classes"> & { readonly counts: Readonly<Record<string, number>> };

/** POSIX, or a Windows drive. Other paths are relative to load-tests/, where k6 runs; k6 resolves them relative to the scenario. */
function isAbsolute(path: string): boolean {
  return /^(\/|[A-Za-z]:)/.test(path);
}

/** Module scope only: k6 does not open files anywhere else, and `k6 archive` packs the files opened here. */
export function openSeeds(scenario: ScenarioName, preset: string) {
  const source = __ENV["SEEDS"] ?? "";
  if (source === "") throw new Error("SEEDS must name the seed file or its URL; `npm run load` makes one");
  const remote = source.startsWith("http://") || source.startsWith("https://");
  const deck = new SharedArray<Card>(`deck ${scenario}`, () => deckOf(sharesOf(scenario, preset)));
  const parse = () => JSON.parse(open(isAbsolute(source) ? source : import.meta.resolve(`../${source}`))) as SeedFile;
  const head = remote ? undefined : new SharedArray<Head>("seed head", () => [headOf(parse())])[0]!;
  const classes: Record<string, ArrayLike<Seed>> = {};
  for (const name of Object.keys(head?.counts ?? {})) {
    classes[name] = new SharedArray<Seed>(`seeds ${name}`, () => [...parse().classes[name]!]);
  }
  return {
    deck,
    /** Called in `setup`: the head to check and, for a URL, the entire file, which k6 passes to every virtual user. */
    load(): { readonly head: Head; readonly file: SeedFile | undefined } {
      if (head !== undefined) return { head, file: undefined };
      const response = http.get(source, { responseType: "text" });
      if (response.status !== 200) throw new Error(`${source} answered ${response.status}`);
      const file = JSON.parse(response.body as string) as SeedFile;
      return { head: headOf(file), file };
    },
    of(file: SeedFile | undefined): Seeds {
      const { origin, issuer, clients, dpopKey, identityProvider } = file ?? head!;
      const known = { origin: __ENV["ORIGIN"] ?? origin, issuer, clients, classes: file?.classes ?? classes };
      return {
        ...known,
        ...(dpopKey === undefined ? {} : { dpopKey }),
        ...(identityProvider === undefined ? {} : { identityProvider }),
      };
    },
  };
}

function headOf({ classes, ...rest }: SeedFile): Head {
  const counts = Object.fromEntries(Object.entries(classes).map(([name, seeds]) => [name, seeds.length]));
  return { ...rest, counts };
}
