/**
 * **`node load-tests/measure/measure-imported-sign-ins.ts [each] [least]`**: people whose hashes other products made sign in with their passwords,
 * and their hashes are replaced. `each` people of every kind of hash at its usual cost (100 unless given); then `least` people at the least cost
 * (10,000), at a provider whose own hashes cost next to nothing: some 15 minutes on two cores. Ends with an error if one person cannot sign in or
 * keeps the hash.
 */

import { AdminApi } from "../../packages/edge-op/src/provider-api.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";
import {
  firebaseHash,
  firebasePassword,
  importedHashes,
  importedPassword,
} from "../../test/fixtures/imported-hashes.ts";
import { startProvider } from "../lib/start-provider.ts";
import { inParallel } from "../seed/in-parallel.ts";

const [each = 100, least = 10_000] = process.argv.slice(2).map(Number);
const atOnce = 250;
/** A hash at its usual cost needs a core; a sign-in at the least cost mostly waits. */
const parallel = { usual: 4, least: 16 };

interface Imported {
  readonly name: string;
  readonly hash: string;
  readonly password: string;
}

const hashes = importedHashes.map(([name, hash]) => ({ name, hash, password: importedPassword }));
const cheap = /\$ln=1,|\$04\$|\$i=1\$|\$m=64,/;
const usual: readonly Imported[] = [
  ...hashes.filter(({ hash }) => !cheap.test(hash)),
  { name: "scrypt of Firebase", hash: firebaseHash, password: firebasePassword },
];
const cheapest: readonly Imported[] = hashes.filter(({ hash }) => cheap.test(hash));

/** Imports people with these hashes in turn, signs each in, and counts whose hash is not replaced. */
async function signInAll(title: string, kinds: readonly Imported[], count: number, cheapPasswords: boolean) {
  const atATime = cheapPasswords ? parallel.least : parallel.usual;
  const provider = await startProvider({ shape: "compact", cheapPasswords });
  try {
    const api = new AdminApi(provider.origin, provider.admin);
    const people = Array.from({ length: count }, (_, index) => ({
      sub: `person${index}`,
      ...kinds[index % kinds.length]!,
    }));
    for (let first = 0; first < count; first += atOnce) {
      const users = people
        .slice(first, first + atOnce)
        .map(({ sub, hash }) => ({ sub, username: sub, password_hash: hash }));
      await api.require("POST", "/import/users", { users });
    }
    const seconds = new Map<string, number>();
    const startedAt = performance.now();
    await inParallel(people, atATime, async ({ sub, name, password }) => {
      const person = new Person(provider.origin, { username: sub, password });
      const page = await person.openPage("/account");
      const sentAt = performance.now();
      const reached = await person.submit(page);
      if (reached.kind !== "page" || reached.name !== "account") throw new Error(`${sub} (${name}) is not signed in`);
      seconds.set(name, (seconds.get(name) ?? 0) + (performance.now() - sentAt) / 1000);
    });
    const took = (performance.now() - startedAt) / 1000;
    const kept = await countKept(api, new Map(people.map(({ sub, hash }) => [sub, hash])));
    console.log(
      `\n${title}: ${count} people signed in, in ${took.toFixed(0)} s, ${atATime} at a time; ${kept} keep their hash\n`,
    );
    console.log("| hash | people | mean s |\n| --- | --- | --- |");
    for (const { name } of kinds) {
      const of = people.filter((one) => one.name === name).length;
      console.log(`| ${name} | ${of} | ${((seconds.get(name) ?? 0) / of).toFixed(2)} |`);
    }
    if (kept > 0) process.exitCode = 1;
  } finally {
    await provider.stop();
  }
}

async function countKept(api: AdminApi, imported: ReadonlyMap<string, string>): Promise<number> {
  let kept = 0;
  let cursor: unknown;
  do {
    const query = new URLSearchParams({ limit: "200", ...(cursor === undefined ? {} : { cursor: String(cursor) }) });
    const page = await api.require("GET", `/export/users?${query}`);
    const users = page["users"] as readonly { readonly sub: string; readonly password_hash?: string }[];
    kept += users.filter(({ sub, password_hash: hash }) => hash === undefined || hash === imported.get(sub)).length;
    cursor = page["next_cursor"];
  } while (cursor !== undefined);
  return kept;
}

if (each > 0) await signInAll("At the usual cost", usual, each * usual.length, false);
if (least > 0) await signInAll("At the least cost", cheapest, least, true);
