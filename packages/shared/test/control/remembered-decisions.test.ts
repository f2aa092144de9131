import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { beforeEach, describe, expect, it } from "vitest";
import { isolateMemory, limits } from "../../src/config/limits.ts";
import { ControlView } from "../../src/control/control-view.ts";
import { ReadSet } from "../../src/control/read-set.ts";
import { RememberedDecisions, type Repeatable } from "../../src/control/remembered-decisions.ts";
import { ReceivedRequest } from "../../src/http/received-request.ts";
import { type RequestContext, withMembers } from "../../src/http/request-context.ts";
import type { NamedChange } from "../../src/storage/record-kinds.ts";
import { withinRequest } from "../fixtures/request-fixtures.ts";

/** The rules of ADR 27 for reusing a decision. test/conformance/repeated-requests.test.ts tests the endpoints that use them. */
const path = "/introspect";
const startMs = 1_800_000_000_000;
const never = Number.POSITIVE_INFINITY;
const token = "t".repeat(600);

let control: ControlView;
let decisions: RememberedDecisions;
let context: RequestContext<unknown>;

function at(arrivedAtMs: number): RequestContext<unknown> {
  return withMembers(context, { arrivedAtMs });
}

async function announce(cv: number, changes: readonly NamedChange[]): Promise<void> {
  await withinRequest((each) => control.observe(each, cv, changes));
}

function request(
  body: string,
  headers: Record<string, string> = { authorization: "Basic one" },
  query = "",
): ReceivedRequest {
  return new ReceivedRequest(new Request(`https://op.example.com/${query}`, { method: "POST", headers }), body);
}

/** A decision at `path` in `context`; `known`: the earlier decision on an equal request. */
async function around(each: RequestContext<unknown>, received: ReceivedRequest, decision: Repeatable, at = path) {
  let known: Repeatable | undefined;
  const decide = decisions.around(each, at, received, {
    read: () => ({}),
    decide: async () => decision,
    again: (earlier) => {
      known = earlier;
    },
  });
  await decide();
  return known;
}

function find(received: ReceivedRequest, atMs = startMs, from = path) {
  return around(at(atMs), received, {}, from);
}

/** Within a decision that has read these clients at the present control version. */
function deciding(clients: readonly string[] = ["app"]): RequestContext<unknown> {
  const reads = new ReadSet(control);
  for (const id of clients) reads.note("client", id);
  return withMembers(at(startMs), { progress: { controlConfirmed: true, reads } });
}

async function add(received: ReceivedRequest, decision: Repeatable): Promise<void> {
  await around(deciding(), received, decision);
}

async function addTwice(received: ReceivedRequest, decision: Repeatable): Promise<void> {
  await add(received, decision);
  await add(received, decision);
}

beforeEach(async () => {
  control = new ControlView();
  decisions = new RememberedDecisions(control);
  context = (await withinRequest(async (each) => each)).result;
  await announce(1, []);
});

describe.each([
  ["no body", ""],
  ["a short body", "grant_type=client_credentials"],
  ["a body with a token", `token=${token}`],
])("%s", (_, body) => {
  const decision = { repeatableUntilMs: never };

  it("is remembered when it is repeated, and found only by equal requests", async () => {
    await add(request(body), decision);
    expect(await find(request(body))).toBeUndefined();
    await add(request(body), decision);
    expect(await find(request(body))).toBe(decision);
    expect(await find(request(`${body}&x`))).toBeUndefined();
    expect(await find(request(body, { authorization: "Basic two" }))).toBeUndefined();
    expect(await find(request(body, {}))).toBeUndefined();
    expect(await find(request(body), startMs, "/token")).toBeUndefined();
    expect(await find(request(body, { authorization: "Basic one", dpop: "proof" }))).toBeUndefined();
    expect(await find(request(body, undefined, "?access_token=x"))).toBeUndefined();
  });

  it("ends with its credential, and after at most ten seconds", async () => {
    const ending = { repeatableUntilMs: startMs + 2_000 };
    await addTwice(request(body), ending);
    expect(await find(request(body), startMs + 1_999)).toBe(ending);
    expect(await find(request(body), startMs + 2_000)).toBeUndefined();
    await addTwice(request(body), decision);
    expect(await find(request(body), startMs + limits.rememberedMs - 1)).toBe(decision);
    expect(await find(request(body), startMs + limits.rememberedMs)).toBeUndefined();
  });

  it("is not remembered if each request is decided anew", async () => {
    for (const each of [{}, { repeatableUntilMs: 0 }]) await addTwice(request(body), each);
    expect(decisions.heldBytes).toBe(0);
  });

  it("ends with a change of a record that it has read, and with a gap, but with no other change", async () => {
    await addTwice(request(body), decision);
    await announce(2, [{ version: 2, kind: "user", id: "app" }]);
    expect(await find(request(body))).toBe(decision);
    await announce(3, [{ version: 3, kind: "client", id: "app" }]);
    expect(await find(request(body))).toBeUndefined();
    await addTwice(request(body), decision);
    expect(await find(request(body))).toBe(decision);
    await announce(4, [{ version: 4, kind: "client", id: "*" }]);
    expect(await find(request(body))).toBeUndefined();
  });

  it("is not remembered if a record that it has read changed meanwhile, or outside of a decision", async () => {
    await add(request(body), decision);
    const late = deciding();
    await announce(2, [{ version: 2, kind: "client", id: "app" }]);
    await around(late, request(body), decision);
    await around(at(startMs), request(body), decision);
    expect(decisions.heldBytes).toBe(0);
  });

  it("is remembered if another record changed meanwhile", async () => {
    await add(request(body), decision);
    const late = deciding();
    await announce(2, [{ version: 2, kind: "client", id: "other" }]);
    await around(late, request(body), decision);
    expect(await find(request(body))).toBe(decision);
  });

  it("counts as a read of every record that it has read: a change of one ends the decision that uses it", async () => {
    await addTwice(request(body), decision);
    const using = deciding([]);
    expect(await around(using, request(body), {})).toBe(decision);
    expect(using.progress.reads?.areCurrent()).toBe(true);
    await announce(2, [{ version: 2, kind: "client", id: "app" }]);
    expect(using.progress.reads?.areCurrent()).toBe(false);
  });

  it("is made again if it ended between two attempts; the request is read once", async () => {
    await addTwice(request(body), decision);
    const reads: string[] = [];
    const decide = decisions.around(at(startMs), path, request(body), {
      read: () => {
        reads.push("read");
        return {};
      },
      decide: async () => ({}),
      again: () => undefined,
    });
    expect(await decide()).toBe(decision);
    expect(reads).toEqual([]);
    await announce(2, [{ version: 2, kind: "client", id: "app" }]);
    for (let attempt = 0; attempt < 2; attempt += 1) expect(await decide()).toEqual({});
    expect(reads).toEqual(["read"]);
  });
});

it("a request that cannot be read is refused before it is decided", () => {
  const read = () => {
    throw new OAuthError("invalid_request", "parameters-too-many");
  };
  const deciding = { read, decide: async () => ({}), again: () => undefined };
  expect(() => decisions.around(at(startMs), path, request("a=1"), deciding)).toThrow(OAuthError);
});

it.each(["a=1", `token=${token}`])("no Authorization and an empty one are two requests: %s", async (body) => {
  await addTwice(request(body, {}), { repeatableUntilMs: never });
  expect(await find(request(body, {}))).toBeDefined();
  expect(await find(request(body, { authorization: "" }))).toBeUndefined();
});

it("a second client with the same token does not replace the first one, and neither receives the other's decision", async () => {
  const [first, second] = [{ repeatableUntilMs: never }, { repeatableUntilMs: never }];
  const other = request(`token=${token}`, { authorization: "Basic two" });
  await addTwice(request(`token=${token}`), first);
  await addTwice(other, second);
  expect(await find(request(`token=${token}`))).toBe(first);
  expect(await find(other)).toBeUndefined();
});

it("a long body that is the key of a short one from the same client is another request", async () => {
  const authorization = `Basic ${"a".repeat(400)}`;
  const short = request("token=short", { authorization });
  await addTwice(request(`${path} ${authorization}\ntoken=short`, { authorization }), { repeatableUntilMs: never });
  expect(decisions.heldBytes).toBeGreaterThan(0);
  expect(await find(short)).toBeUndefined();
});

it("nothing is remembered before the first control version, and no request beyond the limit", async () => {
  const long = request("x".repeat(limits.rememberedCharacters + 1));
  await addTwice(long, { repeatableUntilMs: never });
  expect(decisions.heldBytes).toBe(0);
  control = new ControlView();
  decisions = new RememberedDecisions(control);
  await addTwice(request("a"), { repeatableUntilMs: never });
  expect(decisions.heldBytes).toBe(0);
});

it("a body that is not text, or was not accepted, is not remembered", async () => {
  const bytes = new ReceivedRequest(new Request("https://op.example.com/"), new ArrayBuffer(8));
  await addTwice(bytes, { repeatableUntilMs: never });
  expect(decisions.heldBytes).toBe(0);
  expect(await find(bytes)).toBeUndefined();
});

it("of 200 tokens in use at the same time, each is remembered: their marks do not displace each other", async () => {
  let last = 1;
  const someText = () => {
    last = (Math.imul(last, 1_664_525) + 1_013_904_223) >>> 0;
    return last.toString(36);
  };
  const bodies = Array.from({ length: 200 }, () => `token=${Array.from({ length: 80 }, someText).join("")}`);
  for (let round = 0; round < 2; round += 1) {
    for (const body of bodies) await add(request(body), { repeatableUntilMs: never });
  }
  const found = await Promise.all(bodies.map((body) => find(request(body))));
  expect(found.filter((decision) => decision === undefined)).toHaveLength(0);
});

it("requests that never repeat cost no memory, except a few whose marks are equal", async () => {
  for (let index = 0; index < 20_000; index += 1) {
    const body = `token=${crypto.randomUUID()}${crypto.randomUUID()}${"t".repeat(400)}`;
    await add(request(body), { repeatableUntilMs: never });
  }
  expect(decisions.heldBytes).toBeLessThan(isolateMemory.decisions / 100);
});
