import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { useFreshDeployment } from "../../../../test/fixtures/fresh-deployment.ts";
import { type ControlPlaneBindings, commitControlChange } from "../../src/control/commit-control-change.ts";
import type { CommittedCutOff, ControlPlaneRpc } from "../../src/control/control-plane-rpc.ts";
import { createRequestContext } from "../../src/http/request-context.ts";
import type { RevocationShard } from "../../src/leases/revocation-shard-rpc.ts";
import { endUserSessions } from "../../src/sessions/user-sessions.ts";
import type { SharedEnv } from "../fixtures/request-fixtures.ts";

type Env = SharedEnv &
  ControlPlaneBindings & { readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard> };
const bindings = env as unknown as Env;
const { DB } = bindings;

useFreshDeployment();
afterEach(() => {
  vi.useRealTimers();
});

function request(overrides: Partial<Env> = {}) {
  const execution = { waitUntil: () => {} };
  return createRequestContext(new Request("https://op.example.com/"), { ...bindings, ...overrides }, execution);
}

/** A control plane that records its calls and does what the test requires. */
function fakePlane(calls: string[], work: Partial<Pick<ControlPlaneRpc, "begin" | "publish">>): Partial<Env> {
  const stub = {
    begin: async (id: string) => {
      calls.push("begin");
      await work.begin?.(id);
    },
    publish: async (id: string, cutOff?: CommittedCutOff) => {
      calls.push("publish");
      return (await work.publish?.(id, cutOff)) ?? { cv: 2 };
    },
  };
  const namespace = { getByName: () => stub };
  return { CONTROL_PLANE: namespace as unknown as DurableObjectNamespace<ControlPlaneRpc> };
}

const insert = (sub: string) =>
  DB.prepare(
    "INSERT INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES (?1, ?1, ?1, 0, 0)",
  ).bind(sub);

async function changes(): Promise<string[]> {
  const { results } = await DB.prepare("SELECT kind, id FROM control_changes WHERE version > 1 ORDER BY version").run<{
    kind: string;
    id: string;
  }>();
  return results.map(({ kind, id }) => `${kind}:${id}`);
}

it("when it returns, the change is committed and every live revocation shard has its version", async () => {
  const committed = await commitControlChange(
    request(),
    [insert("alice")],
    [
      { kind: "user", id: "alice" },
      { kind: "rbac", id: "alice" },
    ],
  );
  expect(committed.cv).toBe(3);
  expect(committed.results.map(({ meta }) => meta.changes)).toEqual([1]);
  expect(await changes()).toEqual(["user:alice", "rbac:alice"]);
  const { TOKEN_REVOCATION_STORE } = bindings;
  const responses = await Promise.all(
    Array.from({ length: 8 }, (_, shard) =>
      TOKEN_REVOCATION_STORE.getByName(`revocation:g1:wnam:${shard}`).check([], [], -1),
    ),
  );
  expect(responses.map(({ cv }) => cv)).toEqual(Array(8).fill(3));
}, 20_000);

it("an earlier confirmation of this request does not count after its change", async () => {
  const context = request(fakePlane([], {}));
  context.progress.controlConfirmed = true;
  await commitControlChange(context, [insert("alice")], [{ kind: "user", id: "alice" }]);
  expect(context.progress.controlConfirmed).toBe(false);
});

it("ADR 12: ControlPlane receives whether D1 lists sessions that end with the change", async () => {
  const told: unknown[] = [];
  const publish: ControlPlaneRpc["publish"] = async (_, cutOff) => {
    told.push(cutOff?.listsSessions);
    return { cv: cutOff?.version ?? 0 };
  };
  const suspend = (sub: string) => [
    ...endUserSessions(DB, sub, { reason: "suspended", atMs: 0 }),
    DB.prepare("UPDATE users SET status = 'suspended' WHERE sub = ?1").bind(sub),
  ];
  await DB.batch([
    insert("alice"),
    insert("bob"),
    DB.prepare(
      "INSERT INTO user_sessions (sid, sub, device, signed_in_at_ms, ends_at_ms) VALUES ('s', 'bob', '', 0, 1)",
    ),
  ]);
  for (const id of ["alice", "bob"]) {
    const cutOff = { kind: "sub", id, actor: "admin" } as const;
    await commitControlChange(request(fakePlane([], { publish })), suspend(id), [{ kind: "user", id }], cutOff);
  }
  await commitControlChange(request(fakePlane([], { publish })), [], [{ kind: "user", id: "alice" }]);
  expect(told).toEqual([false, true, undefined]);
});

it("without a durable intent nothing is committed", async () => {
  const calls: string[] = [];
  const begin = async () => {
    throw new Error("overloaded");
  };
  const context = request(fakePlane(calls, { begin }));
  await expect(commitControlChange(context, [insert("alice")], [{ kind: "user", id: "alice" }])).rejects.toMatchObject({
    name: "UnavailableError",
    store: "control plane",
  });
  expect(calls).toEqual(["begin"]);
  expect(await changes()).toEqual([]);
});

it("a commit long after its intent is not attempted, because the intent may have been settled", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  const calls: string[] = [];
  const begin = async () => {
    vi.setSystemTime(Date.now() + 10_001);
  };
  const context = request(fakePlane(calls, { begin }));
  await expect(commitControlChange(context, [insert("alice")], [])).rejects.toMatchObject({ name: "UnavailableError" });
  expect(calls).toEqual(["begin"]);
  expect(await DB.prepare("SELECT sub FROM users").first()).toBe(null);
});

it("a publication that fails is 503: the change is committed and the control plane finishes it", async () => {
  const publish = async () => {
    throw new Error("a shard is down");
  };
  const context = request(fakePlane([], { publish }));
  await expect(commitControlChange(context, [insert("alice")], [{ kind: "user", id: "alice" }])).rejects.toMatchObject({
    name: "UnavailableError",
  });
  expect(await changes()).toEqual(["user:alice"]);
});

it("an existing record is a conflict, and no part of the change is stored", async () => {
  const calls: string[] = [];
  await insert("alice").run();
  const statements = [insert("bob"), insert("alice")];
  const context = request(fakePlane(calls, {}));
  await expect(commitControlChange(context, statements, [{ kind: "user", id: "bob" }])).rejects.toMatchObject({
    code: "conflict",
    status: 409,
  });
  expect(await changes()).toEqual([]);
  expect(calls).toEqual(["begin"]);
});

it("a failing D1 is 503, not a conflict", async () => {
  const context = request(fakePlane([], {}));
  await expect(commitControlChange(context, [DB.prepare("DELETE FROM nothing")], [])).rejects.toMatchObject({
    name: "UnavailableError",
    store: "D1",
  });
});
