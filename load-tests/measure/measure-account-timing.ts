/**
 * **`node load-tests/measure/measure-account-timing.ts`**: whether the time of a response tells that an account exists. For a wrong password, an
 * address on the page for a forgotten password and one on the page for signing up, it sends pairs of requests in random order, one for an account and
 * one for none, and prints the median of their differences with its interval. Exits 0 only if each whole interval is within ± 1 ms. The mail to an
 * account is sent after the response; a pause keeps it out of the next request.
 */

import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { readCommandLine } from "../lib/command-line.ts";
import type { SeedClient } from "../lib/seed-file.ts";
import { findForm, type PageForm } from "../lib/sign-in-form.ts";
import { startProvider } from "../lib/start-provider.ts";
import { Visit } from "../lib/visit.ts";
import { Random } from "../model/random.ts";
import { Browser } from "../seed/browser.ts";
import { inParallel } from "../seed/in-parallel.ts";
import type { Recipe } from "../seed/make-seeds.ts";
import { nodeVisitor } from "../seed/node-visitor.ts";
import { peopleRecipes } from "../seed/people-seeds.ts";
import { type Cast, createCast } from "../seed/provision.ts";
import { isEqual, pairedDifference } from "./paired-difference.ts";

const usage = `node load-tests/measure/measure-account-timing.ts [options]

  --pairs N      of requests for each case (default 1000)
  --cases LIST   of sign-in, recovery, sign-up (default: all)
  --hashes cheap|real
                 of passwords: a real one takes about 0.2 s and hides everything else, so the default is cheap
  --pause N      milliseconds between two requests (default 25)`;

const { values } = readCommandLine(usage, {
  pairs: { type: "string", default: "1000" },
  cases: { type: "string", default: "recovery,sign-up,sign-in" },
  hashes: { type: "string", default: "cheap" },
  pause: { type: "string", default: "25" },
});
const pairs = Number(values.pairs);
const limitMs = 1;
/** Requests before the first pair. */
const warmUps = 20;
/** A page is open for half an hour. */
const pairsPerPage = 200;
/** An address gets this many mails at once. */
const mailsPerAddress = 3;
/** An account has room for 720 attempts from addresses of their own. */
const signInNames = 20;

interface Case {
  /** The button of the sign-in page that leads to the form. */
  readonly button?: string;
  /** An input of the form. */
  readonly input: string;
  /** The status of the page after it, for an account and for none. */
  readonly status: number;
  fields(name: string): Readonly<Record<string, string>>;
}

const cases: Readonly<Record<string, Case>> = {
  "sign-in": {
    ...{ input: "password", status: 400 },
    fields: (name) => ({ username: name, password: "not the password of anybody" }),
  },
  recovery: {
    ...{ button: "recover", input: "address", status: 200 },
    fields: (name) => ({ address: name }),
  },
  "sign-up": {
    ...{ button: "sign-up", input: "address", status: 200 },
    fields: (name) => ({ name: "Timed Person", address: name }),
  },
};

interface OpenForm extends PageForm {
  readonly cookie: string;
}

/** Each request has a sender of its own, whose limits it does not reach. */
const newSender = () => `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;

const provider = await startProvider({
  mailbox: true,
  cheapPasswords: values.hashes !== "real",
  vars: { SIGN_UP: "open", TRUST_FORWARDED_HEADERS: "true" },
});
const { origin } = provider;

async function openForm({ button, input }: Case, client: SeedClient): Promise<OpenForm> {
  const browser = new Browser(origin);
  const visit = new Visit(nodeVisitor(origin, browser), client, 0);
  const signIn = await visit.begin();
  const page = button === undefined ? signIn : await visit.submit(signIn, button, { [button]: "1" });
  const form = findForm(page.html, input);
  if (form === undefined) throw new Error(`no form with ${input}`);
  return { ...form, cookie: browser.cookieHeader };
}

/** Milliseconds until the response is complete. */
async function time({ action, fields, cookie }: OpenForm, measured: Case, name: string): Promise<number> {
  const body = new URLSearchParams({ ...fields, ...measured.fields(name) });
  const headers = { cookie, origin, "x-forwarded-for": newSender() };
  const startedAt = performance.now();
  const response = await fetch(origin + action, { method: "POST", headers, body, redirect: "manual" });
  await response.arrayBuffer();
  const ms = performance.now() - startedAt;
  const page = await fetch(new URL(response.headers.get("location") ?? "/404", origin), { headers: { cookie } });
  await page.arrayBuffer();
  // A limit, for example, would compare other responses than those of the case.
  if (page.status !== measured.status) throw new Error(`the page after the form is ${page.status}`);
  await sleep(Number(values.pause));
  return ms;
}

/** Accounts, and as many names of nobody. */
async function makeNames({ input }: Case, cast: Cast): Promise<Record<"known" | "unknown", string[]>> {
  if (input === "password") {
    const known = cast.people.map(({ username }) => username);
    return { known, unknown: known.map((name) => name.replace("person", "nobody")) };
  }
  const recipes = peopleRecipes("recover", provider, cast);
  const make = async ({ make: makeSeed, atOnce }: Recipe) => {
    const made: string[] = [];
    const indices = Array.from({ length: Math.ceil((pairs + warmUps) / mailsPerAddress) }, (_, index) => index);
    await inParallel(indices, atOnce, async (index) => {
      made.push((await makeSeed(index)).address ?? "");
    });
    return made;
  };
  return { known: await make(recipes["recover"]!), unknown: await make(recipes["unknown"]!) };
}

async function measure(measured: Case, cast: Cast): Promise<number[]> {
  const client = cast.clients.web;
  const { known, unknown } = await makeNames(measured, cast);
  const differences: number[] = [];
  let form = await openForm(measured, client);
  for (let pair = -warmUps; pair < pairs; pair += 1) {
    if (pair > 0 && pair % pairsPerPage === 0) form = await openForm(measured, client);
    const at = (pair + warmUps) % known.length;
    const isKnownFirst = randomInt(2) === 0;
    const first = await time(form, measured, (isKnownFirst ? known : unknown)[at]!);
    const second = await time(form, measured, (isKnownFirst ? unknown : known)[at]!);
    if (pair >= 0) differences.push(isKnownFirst ? first - second : second - first);
  }
  return differences;
}

let failures = 0;
try {
  const cast = await createCast(provider, signInNames);
  for (const name of values.cases.split(",")) {
    const measured = cases[name];
    if (measured === undefined) throw new Error(`no case "${name}": ${Object.keys(cases).join(", ")}`);
    const result = pairedDifference(await measure(measured, cast), new Random(1));
    const equal = isEqual(result, limitMs);
    if (!equal) failures += 1;
    const [median, low, high] = [result.medianMs, result.lowMs, result.highMs].map((ms) => ms.toFixed(3));
    console.log(
      `${name}: account − none, median ${median} ms, 95 % interval ${low} to ${high} ms, ${pairs} pairs: ${equal ? "equal" : `not within ± ${limitMs} ms`}`,
    );
  }
} finally {
  await provider.stop();
}
process.exitCode = failures === 0 ? 0 : 1;
