/**
 * **`node load-tests/measure/measure-console.ts [rows] [compact]`**: the console's lists with a million users, clients and audit events behind them,
 * unless another number is given, in separate Workers or in the compact one. It writes the rows into the databases of a provider on this machine,
 * opens pages of each list one after the other as somebody who follows "Next page", and prints the times and the largest page. Exits 0 only if no
 * page has more than 50 kB.
 */

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AdminApi } from "../../packages/edge-op/src/provider-api.ts";
import { percentile } from "../lib/percentile.ts";
import { findForm, type PageForm } from "../lib/sign-in-form.ts";
import { type StartedProvider, startProvider } from "../lib/start-provider.ts";
import { totpCode } from "../lib/totp-code.ts";
import { Browser } from "../seed/browser.ts";

const rows = Number(process.argv[2] ?? 1_000_000);
const shape = process.argv[3] === "compact" ? "compact" : "separate";
const pagesOfList = 100;
const largestBytes = 50_000;
const stateDir = mkdtempSync(join(tmpdir(), "measure-console-"));

const lists: Readonly<Record<string, string>> = {
  users: "/console/users",
  "users, by the beginning of an address": "/console/users?by=email&value=person05*",
  "users, suspended (one in a thousand)": "/console/users?by=status&value=suspended",
  "users, active": "/console/users?by=status&value=active",
  clients: "/console/clients",
  "clients, by the beginning of a name": "/console/clients?by=client_name&value=Application%205*",
  "audit events": "/console/audit",
  "audit events of a type": "/console/audit?by=type&value=token.issued",
  "audit events of a client": "/console/audit?by=client_id&value=app000001",
};

/** Signs an administrator of everything in, with a new authenticator app. */
async function signIn({ origin, admin }: StartedProvider): Promise<Browser> {
  const api = new AdminApi(origin, admin);
  const permissions = ["admin:clients", "admin:users", "admin:audit"];
  const person = { username: "administrator", password: "correct horse battery staple" };
  await api.require("PUT", "/roles/administrator", { permissions });
  await api.require("POST", "/users", { ...person, roles: ["administrator"] });
  const browser = new Browser(origin);
  const follow = async (first: Response): Promise<string> => {
    let response = first;
    for (let location = response.headers.get("location"); location !== null; ) {
      response = await browser.send(new URL(location, origin).href);
      location = response.headers.get("location");
    }
    return response.text();
  };
  const submit = async (page: string, input: string, fields: Readonly<Record<string, string>>) => {
    const form: PageForm | undefined = findForm(page, input);
    if (form === undefined) throw new Error(`no form with ${input}: ${page.slice(0, 2000)}`);
    return follow(await browser.send(form.action, new URLSearchParams({ ...form.fields, ...fields })));
  };
  const setUp = await submit(await follow(await browser.send("/console")), "password", person);
  const key = /id="key">([^<]*)</.exec(setUp)?.[1] ?? "";
  const codes = await submit(setUp, "code", { code: await totpCode(key, Date.now()) });
  await submit(codes, "codes", { codes: "later" });
  return browser;
}

/** The database of `stateDir` that has a table. */
function openDatabase(table: string): DatabaseSync {
  const files = readdirSync(stateDir, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".sqlite"));
  for (const file of files) {
    const database = new DatabaseSync(join(stateDir, file));
    const found = database.prepare("SELECT 1 FROM sqlite_master WHERE name = ? AND type = 'table'").get(table);
    if (found !== undefined) return database;
    database.close();
  }
  throw new Error(`no database with ${table}`);
}

const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})`;

function fill(): void {
  const control = openDatabase("users");
  control.exec(`${numbers} INSERT INTO users (sub, username, username_key, status, claims, created_at_ms, updated_at_ms)
    SELECT format('u%07d', n), format('person%07d', n), format('person%07d', n), iif(n % 1000 = 0, 'suspended', 'active'),
      json_object('name', format('Person %07d', n), 'email', format('person%07d@example.com', n), 'email_verified', json('true')), n, n FROM numbers`);
  control.exec(`${numbers} INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms)
    SELECT format('app%06d', n), json_set((SELECT metadata FROM clients WHERE client_id = 'console'),
      '$.client_name', format('Application %06d', n)), n, n FROM numbers`);
  control.close();
  const audit = openDatabase("audit_events");
  audit.exec(`${numbers} INSERT INTO audit_events (position, shard, seq, at_ms, type, payload, previous, hash, chain)
    SELECT (SELECT max(position) FROM audit_events) + n, 'measured', n, ${Date.now()} - ${rows} + n, iif(n % 2, 'token.issued', 'session.opened'),
      json_object('sub', format('u%07d', n), 'clientId', format('app%06d', n % 100 + 1), 'requestId', format('%032d', n)),
      zeroblob(32), zeroblob(32), zeroblob(32) FROM numbers`);
  audit.close();
}

interface Measured {
  readonly times: readonly number[];
  readonly bytes: number;
}

async function walk(browser: Browser, first: string): Promise<Measured> {
  const times: number[] = [];
  let bytes = 0;
  for (let path: string | undefined = first; path !== undefined && times.length < pagesOfList; ) {
    const startedAt = performance.now();
    const response = await browser.send(path);
    const html = await response.text();
    times.push(performance.now() - startedAt);
    if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
    bytes = Math.max(bytes, Buffer.byteLength(html));
    path = /href="([^"]*)" id="next-/.exec(html)?.[1]?.replaceAll("&amp;", "&");
  }
  return { times: times.toSorted((one, other) => one - other), bytes };
}

try {
  const first = await startProvider({ stateDir, shape });
  const port = Number(new URL(first.origin).port);
  const browser = await signIn(first);
  await first.stop();
  fill();
  const provider = await startProvider({ stateDir, shape, port });
  try {
    for (const path of Object.values(lists)) await browser.send(path);
    console.log(
      `| ${rows.toLocaleString("en")} of each | pages | p50 ms | p95 ms | largest page, bytes |\n| --- | --- | --- | --- | --- |`,
    );
    for (const [name, path] of Object.entries(lists)) {
      const { times, bytes } = await walk(browser, path);
      const [half, most] = [0.5, 0.95].map((share) => percentile(times, share).toFixed(1));
      console.log(`| ${name} | ${times.length} | ${half} | ${most} | ${bytes.toLocaleString("en")} |`);
      if (bytes > largestBytes) process.exitCode = 1;
    }
  } finally {
    await provider.stop();
  }
} finally {
  rmSync(stateDir, { recursive: true, force: true });
}
