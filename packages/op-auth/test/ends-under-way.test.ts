import { endSessions, revokeOfflineGrants, withdrawConsent } from "@edge-op/shared/endings/endings";
import { grantKey } from "@edge-op/shared/grants/grant-revocation";
import { allUserSessions } from "@edge-op/shared/sessions/user-sessions";
import { objectName } from "@edge-op/shared/storage/shard-address";
import { deleteOfflineGrants, listOfflineGrants } from "@edge-op/shared/users/offline-grants";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { seedClient } from "../../../test/fixtures/seed.ts";
import {
  authEnv,
  type Browser,
  codeClient,
  contextOf,
  countRows,
  formTokenOf,
  locationOf,
  sentToClient,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { interrupted } from "./fixtures/interrupted-calls.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

/**
 * ADR 16: an end reaches what is under way. Wherever it is made between the calls of an authorization, and wherever an authorization is made between
 * its calls: what was decided before it gives nothing that is alive after it.
 */

const { fixtures, browser } = useDeployment();
const offline = "openid offline_access";

interface Case {
  readonly clientId: "app" | "own";
  /** The state in which the request is made. */
  prepare(own: Browser): Promise<unknown>;
  send(own: Browser): Promise<Response>;
}

async function consentElsewhere(scope: string): Promise<void> {
  await fixtures.browser().signInWhole({ scope, prompt: "consent" });
}

const signInAtAccount = async (own: Browser) => own.signIn(locationOf(await own.get("/account")));

/** The last form of a sign-in, or of a consent. */
const lastForm = (parameters: Record<string, string>, fields: Record<string, string>) => {
  let page = "";
  let form_token = "";
  return {
    async load(own: Browser) {
      page = await own.pageOf(parameters);
      form_token = formTokenOf(await (await own.get(page)).text());
    },
    send: (own: Browser) => own.post(page, { form_token, ...fields }),
  };
};

const signInForm = (scope: string) =>
  lastForm({ scope, prompt: "login" }, { username: "alice", password: "correct horse battery staple" });
const signInShort = signInForm("openid profile");
const signInOffline = signInForm(offline);
const consentOffline = lastForm({ scope: offline, prompt: "consent" }, { decision: "allow" });

const cases: Readonly<Record<string, Case>> = {
  "the first silent request of a session": {
    clientId: "app",
    async prepare(own) {
      await consentElsewhere("openid profile");
      await signInAtAccount(own);
    },
    send: (own) => own.authorize({ prompt: "none" }),
  },
  "a repeated offline request": {
    clientId: "app",
    prepare: (own) => own.signInWhole({ scope: offline, prompt: "consent" }),
    send: (own) => own.authorize({ scope: offline }),
  },
  "a consent to offline access": {
    clientId: "app",
    async prepare(own) {
      await signInAtAccount(own);
      await consentOffline.load(own);
    },
    send: (own) => consentOffline.send(own),
  },
  "a sign-in with a remembered consent": {
    clientId: "app",
    async prepare(own) {
      await consentElsewhere("openid profile");
      await signInShort.load(own);
    },
    send: (own) => signInShort.send(own),
  },
  "a sign-in anew, offline": {
    clientId: "app",
    async prepare(own) {
      await consentElsewhere(offline);
      await signInAtAccount(own);
      await signInOffline.load(own);
    },
    send: (own) => signInOffline.send(own),
  },
  "an offline request of a client that needs no consent": {
    clientId: "own",
    prepare: (own) => own.signInWhole({ client_id: "own", scope: offline }),
    send: (own) => own.authorize({ client_id: "own", scope: offline }),
  },
};

type End = (clientId: string, bindings: typeof authEnv) => Promise<void>;

const ends: Readonly<Record<string, End>> = {
  "the person removes the access": (clientId, bindings) =>
    withdrawConsent(contextOf(bindings), fixtures.isolate, { sub: "alice", clientId, by: "consent_withdrawn" }),
  "all sessions end, then all offline grants": async (clientId, bindings) => {
    const context = contextOf(bindings);
    for await (const sids of allUserSessions(bindings.DB, "alice", Date.now())) {
      await endSessions(context, fixtures.isolate, sids, "ended by an administrator");
    }
    const grants = await listOfflineGrants(bindings.DB, "alice", clientId);
    await revokeOfflineGrants(context, fixtures.isolate, "administrator", grants);
    await deleteOfflineGrants(bindings.DB, "alice", grants).run();
  },
};

/** The code that a response contains, if any. */
function codeIn(response: Response): string | undefined {
  const location = response.headers.get("location") ?? "";
  return location.startsWith("https://app.example.com/") ? sentToClient(response).code : undefined;
}

async function isDead(code: string): Promise<boolean> {
  const { grant } = await fixtures.payloadOf(code);
  const shard = authEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", grant.address));
  const { revoked } = await shard.check([grantKey(grant.grantId)], [], -1);
  return revoked.length === 1;
}

/** Nothing of what the request was given is alive, and nothing is listed. */
async function expectNothingLeft({ clientId }: Case, own: Browser, response: Response): Promise<void> {
  const code = codeIn(response);
  if (code !== undefined) expect(await isDead(code)).toBe(true);
  await vi.waitFor(async () => expect(await listOfflineGrants(authEnv.DB, "alice", clientId)).toEqual([]));
  const later = sentToClient(await own.authorize({ prompt: "none", client_id: clientId }));
  if (clientId === "app") expect(later.code).toBeUndefined();
}

/** Runs `attempt` with something before its first call, then before its second, until there are no more calls. Returns how often. */
async function beforeEveryCall(attempt: (before: (call: string) => boolean) => Promise<void>): Promise<number> {
  for (let at = 1; ; at += 1) {
    let calls = 0;
    await attempt(() => {
      calls += 1;
      return calls === at;
    });
    if (calls < at) return at - 1;
  }
}

async function prepared({ prepare }: Case): Promise<Browser> {
  // The sessions of the attempt before: each would be another call.
  await authEnv.DB.prepare("DELETE FROM user_sessions").run();
  const own = fixtures.browser();
  await prepare(own);
  return own;
}

const isSignIn = (kind: string) => kind.startsWith("a sign-in");
const isOfAccess = (end: string) => end === "the person removes the access";
const pairs = Object.entries(ends).flatMap(([name, end]) =>
  // Who signs in while all sessions end signs in after that.
  Object.entries(cases)
    .filter(([kind]) => isOfAccess(name) || !isSignIn(kind))
    .map(([kind, each]) => ({ name, end, kind, each })),
);

beforeEach(async () => {
  await seedClient(authEnv, "own", { ...codeClient, skip_consent: true });
});

it.each(pairs)("$kind: $name between any of its calls", async ({ name, end, kind, each }) => {
  const tried = await beforeEveryCall(async (isNow) => {
    let isRead = isSignIn(kind) || !isOfAccess(name);
    let isDue = false;
    const bindings = interrupted(async (call) => {
      if (isNow(call)) {
        // A request that reads the session later is made after the end: it may be given a new grant.
        isDue = isRead;
        await end(each.clientId, authEnv);
      }
      isRead ||= call === "use" || call === "read";
    });
    const own = fixtures.copyOf(await prepared(each), bindings);
    const response = await each.send(own);
    if (isDue) await expectNothingLeft(each, own, response);
  });
  expect(tried).toBeGreaterThanOrEqual(2);
});

// A consent that is given meanwhile is a new one, and so is the access of a client that needs none.
const between = pairs.filter(
  ({ name, kind, each }) => !isOfAccess(name) || (each.clientId === "app" && kind !== "a consent to offline access"),
);

it.each(between)("$name: $kind between any of its calls", async ({ end, each }) => {
  const tried = await beforeEveryCall(async (isNow) => {
    const own = await prepared(each);
    let response: Response | undefined;
    const bindings = interrupted(async (call) => {
      if (isNow(call)) response = await each.send(own);
    });
    await end(each.clientId, bindings);
    if (response !== undefined) await expectNothingLeft(each, own, response);
  });
  expect(tried).toBeGreaterThanOrEqual(4);
});

it("a consent that is given after its withdrawal works at once, in the same session", async () => {
  await browser.signInWhole({ scope: offline, prompt: "consent" });
  for (const scope of ["openid profile", offline]) {
    await ends["the person removes the access"]!("app", authEnv);
    expect((await browser.signInWhole({ scope, prompt: "consent" })).get("code")).not.toBeNull();
    expect(sentToClient(await browser.authorize({ scope: "openid", prompt: "none" })).code).toBeDefined();
  }
});

it("a consent that is given while it is withdrawn stays, and can be withdrawn", async () => {
  await browser.signInWhole();
  const other = fixtures.browser();
  await signInAtAccount(other);
  let calls = 0;
  const bindings = interrupted(async (call) => {
    if (!call.startsWith("DELETE FROM user_grants")) return;
    calls += 1;
    await other.signInWhole({ prompt: "consent" });
  });
  await ends["the person removes the access"]!("app", bindings);
  expect([calls, await countRows("consents")]).toEqual([1, 1]);
  expect(sentToClient(await other.authorize({ prompt: "none" })).code).toBeDefined();
});

describe("the 201st session", () => {
  /** Signs in, and buries the session under 200 others: they are newer, and come first in the order of their ids. */
  async function bury(): Promise<Browser> {
    const oldest = fixtures.browser();
    await oldest.signInWhole();
    const insert = "INSERT INTO user_sessions VALUES (?1, 'alice', 'x', ?2, ?2 + 1000, NULL, NULL)";
    const atMs = Date.now() + 3_600_000;
    await authEnv.DB.batch(
      Array.from({ length: 200 }, (_, index) =>
        authEnv.DB.prepare(insert).bind(`g1.wnam.0.-----------------${1000 + index}`, atMs),
      ),
    );
    return oldest;
  }

  async function post(path: string, fields: Record<string, string>): Promise<string> {
    const form_token = formTokenOf(await (await browser.get("/account/security")).text());
    return locationOf(await browser.post(path, { form_token, ...fields }));
  }

  const reached: Readonly<Record<string, readonly [() => Promise<string>, string]>> = {
    "signed out everywhere else": [() => post("/account/sessions/end-others", {}), "login_required"],
    "a passkey is removed": [
      async () => post("/account/passkeys/remove", { credential_id: (await SoftwarePasskey.register("alice")).id }),
      "login_required",
    ],
    "an access is removed": [() => post("/account/consents", { client_id: "app" }), "consent_required"],
    "it is ended by its id": [
      async () => {
        const oldest = "SELECT sid FROM user_sessions ORDER BY signed_in_at_ms LIMIT 1";
        return post("/account/sessions", { sid: (await authEnv.DB.prepare(oldest).first<string>("sid"))! });
      },
      "login_required",
    ],
  };

  it.each(Object.entries(reached))("%s", async (_, [end, error]) => {
    const oldest = await bury();
    await signInAtAccount(browser);
    expect(sentToClient(await oldest.authorize({ prompt: "none" })).code).toBeDefined();
    expect(await end()).toContain("notice=");
    expect(sentToClient(await oldest.authorize({ prompt: "none" })).error).toBe(error);
    expect((await browser.get("/account")).status).toBe(200);
  });
});
