import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { backupStatements } from "../src/backup-statements.ts";
import type { Builds, Migration } from "../src/builds.ts";
import { AdminApi, basicAuthorization, type Credentials, postForm } from "../src/provider-api.ts";
import { type LocalProvider, runProvider } from "../src/run-provider.ts";
import { tryRestore } from "../src/try-restore.ts";
import { Person } from "./person.ts";

const waitMs = 30_000;
const redirectUri = "http://localhost:1/callback";
const password = "violet harbour 82 lanterns";
const newPassword = "copper meadow 17 sparrows";
const alice = { username: "alice", password };
/** The hash of {@link password}, at the least cost. */
const cheapHash = "$scrypt$ln=1,r=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$0x9UQ4qKfcEAlpIwUxvVPH8fv0sB8k6WGhL429v0Ioc";
const passkey = { credential_id: "cmVoZWFyc2Fs", public_key: "A".repeat(103) };
const app = { secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" };

/** People of whom an administrator ends something after the backup, below the path `end`, and what the restored database has again. */
const people = [
  { sub: "dora", has: { passkeys: [passkey] }, end: "/users/dora/factors/", again: "a removed passkey" },
  { sub: "grace", has: { totp: [app] }, end: "/users/grace/factors/", again: "a removed second factor" },
  { sub: "frank", has: {}, end: "/users/frank/consents/", again: "a withdrawn consent" },
  { sub: "erin", has: {}, end: undefined, again: "a password of before its change" },
] as const;

/**
 * **Rehearses a restoration of D1 on this machine** (docs/operating/backup.md): backed up, changed, destroyed, restored. Calls `print` with each
 * step, and throws if anything that was ended lives.
 */
export async function rehearseRestore(builds: Builds, print: (line: string) => void): Promise<void> {
  const stateDir = mkdtempSync(join(tmpdir(), "edge-op-rehearsal-"));
  const provider = await runProvider(builds, { stateDir, shape: "compact" });
  try {
    await new Rehearsal(provider, await builds.migrations("DB"), print).run();
  } finally {
    await provider.stop();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

interface Tokens {
  readonly access: string;
  readonly refresh: string;
}

class Rehearsal {
  readonly #provider: LocalProvider;
  readonly #migrations: readonly Migration[];
  readonly #print: (line: string) => void;
  readonly #api: AdminApi;
  #secret = "";

  constructor(provider: LocalProvider, migrations: readonly Migration[], print: (line: string) => void) {
    this.#provider = provider;
    this.#migrations = migrations;
    this.#print = print;
    this.#api = new AdminApi(provider.origin, provider.admin);
  }

  async run(): Promise<void> {
    const api = this.#api;
    const client = await api.require("POST", "/clients", {
      client_id: "notes",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      scope: "openid offline_access",
    });
    this.#secret = String(client["client_secret"]);
    await api.require("POST", "/users", { sub: "alice", ...alice });
    await api.require("POST", "/users", { sub: "bob", username: "bob" });
    await api.require("POST", "/users", { sub: "carol", username: "carol", roles: ["editor"] });
    await api.require("POST", "/issuers", { issuer_id: "ci", issuer: "https://ci.example.com", rules: [] });
    await api.require("PUT", "/roles/editor", { permissions: ["articles:write"] });
    const service = { client_id: "service", grant_types: ["client_credentials"], response_types: [] };
    const { client_secret: serviceSecret } = await api.require("POST", "/clients", service);
    const isService = () => this.#isClient({ client_id: "service", client_secret: String(serviceSecret) });
    this.#require(await isService(), "a service gets a token");
    const [spent, revoked] = [await this.#signIn(), await this.#signIn()];
    const users = people.map(({ sub, has }) => ({ sub, username: sub, password_hash: cheapHash, ...has }));
    await api.require("POST", "/import/users", { users });
    const agreed = await this.#signIn("frank");
    this.#require((await this.#reach("erin")) === "account", "Erin signs in with her password");
    this.#print("1. Alice is signed in at a client, twice, and Frank; others have accounts.");

    await this.#awaitRelayed();
    const begun = await this.#backUp();
    this.#print(`2. The backup ${begun} is complete.`);

    const rotated = await this.#refresh(spent.refresh);
    this.#require(rotated.status === 200, "a refresh token works");
    this.#require(await this.#isActive(revoked.access), "a token is active");
    await api.require("POST", "/revocations", { token: revoked.access });
    await Promise.all([
      api.require("PATCH", "/users/bob", { status: "suspended" }),
      api.require("PATCH", "/users/carol", { roles: [] }),
      api.require("PATCH", "/users/erin", { password: newPassword }),
      api.require("PATCH", "/issuers/ci", { status: "disabled" }),
      api.require("DELETE", "/roles/editor"),
      api.require("DELETE", "/clients/service"),
      ...people.map(({ end }) => end && this.#endAll(end)),
    ]);
    const secretBefore = this.#secret;
    const replaced = await api.require("POST", "/clients/notes/secrets", { overlap_seconds: 0 });
    await this.#awaitRelayed();
    this.#print(
      "3. Since then: a refresh token is used, a token and a client secret are revoked, Bob is suspended, Carol loses her role, a passkey, an authenticator app and a consent are removed, a password is changed, and a service, a role and an issuer end.",
    );

    await this.#restore(begun);
    this.#print("4. The database is destroyed, and restored from the backup.");

    const held = await this.#awaitHeld(6 + people.length);
    this.#print(`5. Held until somebody decides: ${held.join(", ")}.`);
    this.#require((await this.#refresh(rotated.refresh)).status !== 200, "the revoked client secret refreshes nothing");
    for (const name of ["bob", "carol"])
      this.#require((await api.require("GET", `/users/${name}`))["status"] === "suspended", `${name} is suspended`);
    await Promise.all(
      people.map(async ({ sub, end, again }) => {
        const [back, reached] = await Promise.all([end && this.#list(end), this.#reach(sub)]);
        const isRefused = back?.length !== 0 && reached === "sign-in";
        this.#require(isRefused, `${again} is in the database again, and ${sub} is refused`);
      }),
    );
    this.#require(!(await isService()), "the deleted service gets no token");
    this.#require((await api.require("GET", "/issuers/ci"))["status"] === "disabled", "the issuer is still disabled");
    const { roles } = (await api.require("GET", "/roles")) as { roles: readonly { readonly role: string }[] };
    this.#require(!roles.some(({ role }) => role === "editor"), "the deleted role gives nothing");
    await api.require("PATCH", "/users/erin", { password: newPassword });
    const records = [
      { kind: "client", id: "notes" },
      { kind: "user", id: "erin" },
      { kind: "user", id: "frank" },
    ];
    const fresh = await api.require("POST", "/clients/notes/secrets", { overlap_seconds: 0 });
    await api.require("POST", "/held-records/decision", { decision: "restore", records });
    this.#print(
      "6. The client gets a new secret, and Erin the new password again; both are allowed again, and so is Frank.",
    );
    this.#require((await this.#reach("erin")) === "sign-in", "the password of before is refused");
    this.#require((await this.#reach("erin", newPassword)) === "account", "the new password is accepted");
    for (const [secret, what] of [
      [secretBefore, "the secret that was revoked"],
      [String(replaced["client_secret"]), "the secret that the restored database does not have"],
    ] as const) {
      this.#secret = secret;
      this.#require((await this.#refresh(rotated.refresh)).status === 401, `${what} is refused`);
    }
    this.#secret = String(fresh["client_secret"]);
    this.#require(!(await this.#isActive(revoked.access)), "the revoked token is not active");
    this.#require(
      (await this.#refresh(agreed.refresh)).status === 400,
      "the grant of the withdrawn consent refreshes nothing",
    );
    this.#require((await this.#refresh(rotated.refresh)).status === 200, "the newest refresh token works");

    const audit = await this.#awaitAudit();
    this.#print(`7. The audit log verifies, up to position ${String(audit["to"])}, and shows the restoration.`);
  }

  #require(isTrue: boolean, what: string): void {
    if (!isTrue) throw new Error(`not true: ${what}`);
    this.#print(`   ${what}`);
  }

  /** The page that a person reaches with a password: `account` if they are signed in. */
  async #reach(username: string, text = password): Promise<string> {
    const person = new Person(this.#provider.origin, { username, password: text });
    const reached = await person.submit(await person.openPage("/account"));
    return reached.kind === "page" ? reached.name : "application";
  }

  /** The ids below a path of the admin API. */
  async #list(path: string): Promise<string[]> {
    const listed = await this.#api.require("GET", path.slice(0, -1));
    const items = (listed["factors"] ?? listed["consents"]) as readonly Readonly<Record<string, unknown>>[];
    return items.map((item) => String(item["factor_id"] ?? item["client_id"]));
  }

  async #endAll(path: string): Promise<void> {
    for (const id of await this.#list(path)) await this.#api.require("DELETE", `${path}${encodeURIComponent(id)}`);
  }

  async #signIn(username = alice.username): Promise<Tokens> {
    const { origin } = this.#provider;
    const query = {
      client_id: "notes",
      response_type: "code",
      redirect_uri: redirectUri,
      nonce: "n",
      prompt: "consent",
    };
    const url = `${origin}/authorize?${new URLSearchParams({ ...query, scope: "openid offline_access" })}`;
    const { url: arrived } = await new Person(origin, { username, password }).visit(url);
    const code = arrived.searchParams.get("code") ?? "";
    return this.#token({ grant_type: "authorization_code", code, redirect_uri: redirectUri });
  }

  async #token(form: Record<string, string>): Promise<Tokens & { readonly status: number }> {
    const authorization = basicAuthorization({ client_id: "notes", client_secret: this.#secret });
    const { status, body } = await postForm(`${this.#provider.origin}/token`, form, { authorization });
    return { status, access: String(body["access_token"]), refresh: String(body["refresh_token"]) };
  }

  async #isClient(credentials: Credentials): Promise<boolean> {
    const authorization = basicAuthorization(credentials);
    const form = { grant_type: "client_credentials" };
    return (await postForm(`${this.#provider.origin}/token`, form, { authorization })).status === 200;
  }

  #refresh(token: string) {
    return this.#token({ grant_type: "refresh_token", refresh_token: token });
  }

  async #isActive(token: string): Promise<boolean> {
    const authorization = basicAuthorization({ client_id: "notes", client_secret: this.#secret });
    const { body } = await postForm(`${this.#provider.origin}/introspect`, { token }, { authorization });
    return body["active"] === true;
  }

  /** Begins a backup, and returns its name when its manifest is written. */
  async #backUp(): Promise<string> {
    await this.#api.require("POST", "/deployment/backup");
    return this.#await("a backup", async () => {
      const manifest = (await this.#provider.stores.listBackups()).find((key) => key.endsWith("/manifest"));
      return manifest?.split("/")[1];
    });
  }

  async #restore(begun: string): Promise<void> {
    const statements: { readonly sql: string }[] = [];
    const { masterKey, readBackup, execute } = this.#provider.stores;
    const opened = backupStatements(begun, masterKey, readBackup);
    const { rows, differences } = await tryRestore(this.#migrations, opened, (sql) => void statements.push({ sql }));
    this.#require(
      differences.length === 0,
      `the backup has ${rows} rows, and is restored into an empty database whole`,
    );
    await execute(statements);
    // As after Time Travel, no isolate has stopped, and each has its copies.
  }

  /** Until every administrative change is copied: what is lost before that is not known. */
  #awaitRelayed(): Promise<true> {
    return this.#await("the audit log", async () => {
      const [rows] = await this.#provider.stores.execute([{ sql: "SELECT max(seq) AS seq FROM admin_events" }]);
      const events = (await this.#api.require("GET", "/audit?limit=200"))["events"] as {
        readonly detail?: { readonly adminSeq?: number };
      }[];
      const seqs = events.map(({ detail }) => detail?.adminSeq ?? 0);
      return Math.max(0, ...seqs) >= Number(rows![0]!["seq"]) ? true : undefined;
    });
  }

  #awaitHeld(count: number): Promise<string[]> {
    return this.#await("held records", async () => {
      const held = (await this.#api.require("GET", "/held-records"))["held_records"] as Record<string, string>[];
      return held.length < count ? undefined : held.map(({ kind, id, lost }) => `${kind} ${id} (${lost})`);
    });
  }

  #awaitAudit(): Promise<Record<string, unknown>> {
    return this.#await("the audit log", async () => {
      const events = (await this.#api.require("GET", "/audit?type=admin-events.*"))["events"] as unknown[];
      const verified = await this.#api.require("GET", "/audit/verification?limit=5000");
      if (verified["valid"] !== true) throw new Error(`the audit log is broken: ${JSON.stringify(verified)}`);
      return events.length > 0 ? verified : undefined;
    });
  }

  async #await<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
    for (const untilMs = Date.now() + waitMs; ; await sleep(200)) {
      const found = await look();
      if (found !== undefined) return found;
      if (Date.now() > untilMs) throw new Error(`${what}: nothing after ${waitMs / 1000} s`);
    }
  }
}
