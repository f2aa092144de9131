import { beforeEach, describe, expect, it } from "vitest";
import { isolateMemory, limits } from "../../src/config/limits.ts";
import { type ControlChange, ControlView } from "../../src/control/control-view.ts";
import { DecisionReads } from "../../src/control/decision-reads.ts";
import { RememberedDecisions } from "../../src/control/remembered-decisions.ts";
import { ReceivedRequest } from "../../src/http/received-request.ts";
import { type RequestContext, withMembers } from "../../src/http/request-context.ts";
import { withinRequest } from "../fixtures/request-fixtures.ts";

/** The rules of ADR 30 by which a decision is found again; what endpoints make of it: test/conformance/repeated-requests.test.ts. */
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

async function announce(cv: number, changes: readonly ControlChange[]): Promise<void> {
  await withinRequest((each) => control.observe(each, cv, changes));
}

function request(body: string, headers: Record<string, string> = { authorization: "Basic one" }): ReceivedRequest {
  return new ReceivedRequest(new Request("https://op.example.com/", { method: "POST", headers }), body);
}

/** As within a decision that begins at the present control version. */
function add(received: ReceivedRequest, decision: object, endsAtMs = never): void {
  const deciding = withMembers(at(startMs), {
    progress: { controlConfirmed: true, reads: new DecisionReads(control) },
  });
  decisions.add(deciding, path, received, { decision, endsAtMs });
}

function addTwice(received: ReceivedRequest, decision: object, endsAtMs?: number): void {
  add(received, decision, endsAtMs);
  add(received, decision, endsAtMs);
}

beforeEach(async () => {
  control = new ControlView();
  decisions = new RememberedDecisions(control);
  context = (await withinRequest(async (each) => each)).result;
  await announce(1, []);
});

describe.each([
  ["a short body", "grant_type=client_credentials"],
  ["a body with a token", `token=${token}`],
])("%s", (_, body) => {
  const decision = { granted: true };

  it("is remembered when it comes for the second time, and found by equal requests alone", () => {
    add(request(body), decision);
    expect(decisions.find(at(startMs), path, request(body))).toBeUndefined();
    add(request(body), decision);
    expect(decisions.find(at(startMs), path, request(body))).toBe(decision);
    expect(decisions.find(at(startMs), path, request(`${body}&x`))).toBeUndefined();
    expect(decisions.find(at(startMs), path, request(body, { authorization: "Basic two" }))).toBeUndefined();
    expect(decisions.find(at(startMs), path, request(body, {}))).toBeUndefined();
    expect(decisions.find(at(startMs), "/token", request(body))).toBeUndefined();
    expect(
      decisions.find(at(startMs), path, request(body, { authorization: "Basic one", dpop: "proof" })),
    ).toBeUndefined();
  });

  it("ends with its credential, and after ten seconds at the latest", () => {
    addTwice(request(body), decision, startMs + 2_000);
    expect(decisions.find(at(startMs + 1_999), path, request(body))).toBe(decision);
    expect(decisions.find(at(startMs + 2_000), path, request(body))).toBeUndefined();
    addTwice(request(body), decision);
    expect(decisions.find(at(startMs + limits.rememberedMs - 1), path, request(body))).toBe(decision);
    expect(decisions.find(at(startMs + limits.rememberedMs), path, request(body))).toBeUndefined();
  });

  it("ends with any administrative change", async () => {
    addTwice(request(body), decision);
    await announce(2, [{ version: 2, kind: "user", id: "someone" }]);
    expect(decisions.find(at(startMs), path, request(body))).toBeUndefined();
    addTwice(request(body), decision);
    expect(decisions.find(at(startMs), path, request(body))).toBe(decision);
  });

  it("is not remembered when a change came while it was decided, or outside of a decision", async () => {
    add(request(body), decision);
    const reads = new DecisionReads(control);
    await announce(2, [{ version: 2, kind: "client", id: "someone" }]);
    const late = withMembers(at(startMs), { progress: { controlConfirmed: true, reads } });
    decisions.add(late, path, request(body), { decision, endsAtMs: never });
    decisions.add(at(startMs), path, request(body), { decision, endsAtMs: never });
    expect(decisions.heldBytes).toBe(0);
  });
});

it.each(["a=1", `token=${token}`])("no Authorization and an empty one are two requests: %s", (body) => {
  addTwice(request(body, {}), {});
  expect(decisions.find(at(startMs), path, request(body, {}))).toBeDefined();
  expect(decisions.find(at(startMs), path, request(body, { authorization: "" }))).toBeUndefined();
});

it("a second client with the same token does not take the first one's place; nor is either served the other's", () => {
  const [first, second] = [{ of: "one" }, { of: "two" }];
  const other = request(`token=${token}`, { authorization: "Basic two" });
  addTwice(request(`token=${token}`), first);
  addTwice(other, second);
  expect(decisions.find(at(startMs), path, request(`token=${token}`))).toBe(first);
  expect(decisions.find(at(startMs), path, other)).toBeUndefined();
});

it("a long body that is the key of a short one, which the same client sends, is another request", () => {
  const authorization = `Basic ${"a".repeat(400)}`;
  const short = request("token=short", { authorization });
  addTwice(request(`${path} ${authorization}\ntoken=short`, { authorization }), {});
  expect(decisions.heldBytes).toBeGreaterThan(0);
  expect(decisions.find(at(startMs), path, short)).toBeUndefined();
});

it("before the first control version nothing is remembered, and no request longer than the limit", () => {
  const long = request("x".repeat(limits.rememberedCharacters + 1));
  addTwice(long, {});
  expect(decisions.heldBytes).toBe(0);
  control = new ControlView();
  decisions = new RememberedDecisions(control);
  addTwice(request("a"), {});
  expect(decisions.heldBytes).toBe(0);
});

it("a body that is no text, or that was not accepted, is not remembered", () => {
  const bytes = new ReceivedRequest(new Request("https://op.example.com/"), new ArrayBuffer(8));
  addTwice(bytes, {});
  expect(decisions.heldBytes).toBe(0);
  expect(decisions.find(at(startMs), path, bytes)).toBeUndefined();
});

it("requests that never repeat cost no memory but for a few whose marks are equal", () => {
  for (let index = 0; index < 20_000; index += 1) {
    add(request(`token=${crypto.randomUUID()}${crypto.randomUUID()}${"t".repeat(400)}`), { index });
  }
  expect(decisions.heldBytes).toBeLessThan(isolateMemory.decisions / 100);
});
