/**
 * **S4 and S6 over random histories**: requests that are repeated, whose response is lost after the commit or that fail before it, end in the state
 * of the last accepted one, and a refused one changes nothing. Broken variants show that the properties can fail.
 */

import { createExecutionContext } from "cloudflare:test";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { createApp } from "../src/app.ts";
import { applyOperations } from "../src/scim/apply-patch.ts";
import { readOperations } from "../src/scim/dialects.ts";
import { type Document, readDocument, userAttributes } from "../src/scim/schema.ts";
import { AdminCaller, bindings, issuer, runsLong } from "./fixtures/admin-fixtures.ts";

const { DB } = bindings;

const value = fc.constantFrom("a", "b");
const operation = fc.oneof(
  fc.record({ op: fc.constantFrom("add", "Replace"), path: fc.constantFrom("title", "name.givenName"), value }),
  fc.record({ op: fc.constantFrom("add", "replace"), path: fc.constant('emails[type eq "work"].value'), value }),
  fc.record({
    op: fc.constantFrom("Add", "replace"),
    path: fc.constant("emails"),
    value: fc.array(fc.record({ value, type: value, primary: fc.boolean() }), { maxLength: 2 }),
  }),
  fc.record({ op: fc.constant("remove"), path: fc.constantFrom("title", "name", "emails", 'emails[value eq "a"]') }),
  fc.record({ op: fc.constant("replace"), value: fc.record({ active: fc.constantFrom(true, "False") }) }),
);
const refused = fc.constantFrom(
  { op: "add", path: "unknown", value: "x" },
  { op: "replace", path: "active", value: 7 },
);

type Apply = typeof applyOperations;
const read = (operations: readonly object[]) =>
  readOperations(userAttributes, { Operations: operations as object[] as never });
const start = () => readDocument(userAttributes, { userName: "ann", emails: [{ value: "a", type: "work" }] });
const textOf = (document: Document) => JSON.stringify(document);

/** Whether a repeated request ends where the first one did. */
function repeats(apply: Apply, operations: readonly object[]): boolean {
  const once = apply(start(), read(operations));
  return textOf(apply(once, read(operations))) === textOf(once);
}

/** Whether a request with a refused operation leaves what was read. */
function leaves(apply: Apply, operations: readonly object[]): boolean {
  const document = start();
  try {
    // Values are read as the operations are applied.
    apply(document, read(operations));
  } catch {
    return textOf(document) === textOf(start());
  }
  return true;
}

describe("documents", () => {
  const some = fc.array(operation, { maxLength: 1 });
  const failing = fc.tuple(fc.array(operation, { maxLength: 4 }), refused).map(([good, bad]) => [...good, bad]);

  it("S4: a repeated operation changes nothing more", () => {
    fc.assert(
      fc.property(some, (operations) => repeats(applyOperations, operations)),
      { numRuns: 500 },
    );
    const appending: Apply = (known, operations) => {
      const next = applyOperations(known, operations);
      const added = operations.some(({ op, target }) => op === "add" && target.name === "emails");
      return added
        ? { ...next, emails: [...((known["emails"] ?? []) as object[]), ...((next["emails"] ?? []) as object[])] }
        : next;
    };
    expect(
      fc.check(
        fc.property(some, (operations) => repeats(appending, operations)),
        { numRuns: 500 },
      ).failed,
    ).toBe(true);
  });

  it("S6: a refused operation leaves nothing of those before it", () => {
    fc.assert(
      fc.property(failing, (operations) => leaves(applyOperations, operations)),
      { numRuns: 500 },
    );
    const inPlace: Apply = (known, operations) => {
      for (const each of operations) Object.assign(known, applyOperations(known, [each]));
      return known;
    };
    expect(
      fc.check(
        fc.property(failing, (operations) => leaves(inPlace, operations)),
        { numRuns: 500 },
      ).failed,
    ).toBe(true);
  });
});

describe("storage", () => {
  let admin: AdminCaller;
  let token: string;
  let app: ReturnType<typeof createApp>;
  beforeEach(async () => {
    admin = new AdminCaller();
    app = createApp(admin.isolate);
    await admin.call("POST", "/organizations", { body: { org_id: "acme", name: "Acme" } });
    await DB.prepare(
      "INSERT INTO organization_domains (org_id, domain, state, created_at_ms) VALUES ('acme', 'acme.example', 'verified', 1)",
    ).run();
    token = (await admin.call("POST", "/organizations/acme/scim-tokens", { body: { name: "Entra" } })).body.token;
  });

  /** Fails the next transaction: before it, or after its commit. */
  let fault: "none" | "before" | "after" = "none";
  const faulty = new Proxy(DB, {
    get(target, name) {
      const own: unknown = Reflect.get(target, name);
      if (name !== "batch") return typeof own === "function" ? own.bind(target) : own;
      return async (statements: D1PreparedStatement[]) => {
        const planned = fault;
        fault = "none";
        if (planned === "before") throw new Error("no connection");
        const results = await target.batch(statements);
        if (planned === "after") throw new Error("connection lost");
        return results;
      };
    },
  });

  async function send(method: string, path: string, body?: object): Promise<{ status: number; id: string }> {
    const request = new Request(`${issuer}/scim/acme/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/scim+json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const env = { ...bindings, DB: faulty, REVOCATION_MODE: "direct" } as const;
    const response = await app.fetch(request, env, createExecutionContext());
    const text = await response.text();
    return { status: response.status, id: text === "" ? "" : (JSON.parse(text) as { id: string }).id };
  }

  /** As directories do: repeated until it is answered. */
  async function insist(method: string, path: string, body?: object) {
    let answer = await send(method, path, body);
    for (let count = 0; answer.status === 503 && count < 3; count += 1) answer = await send(method, path, body);
    return answer;
  }

  const person = { userName: "ann@acme.example", externalId: "e1", emails: [{ value: "ann@acme.example" }] };
  const step = fc.record({
    kind: fc.constantFrom("on", "off", "create", "replace", "delete"),
    fault: fc.constantFrom("none", "before", "after"),
    isRepeated: fc.boolean(),
  });

  it("S4: after any history there is one resource, one account, and a membership as the last accepted request says", {
    timeout: 120_000,
  }, async () => {
    const history = fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8 }), async (steps) => {
      let id = (await insist("POST", "/Users", person)).id;
      let active: boolean | undefined = true;
      for (const { kind, fault: planned, isRepeated } of steps) {
        for (let count = 0; count <= (isRepeated ? 1 : 0); count += 1) {
          fault = planned;
          const setTo = (to: boolean) => ({ Operations: [{ op: "replace", path: "active", value: to }] });
          if (kind === "create") {
            ({ id } = await insist("POST", "/Users", person));
            active ??= true;
          } else if (kind === "delete") {
            await insist("DELETE", `/Users/${id}`);
            active = undefined;
          } else if (active !== undefined) {
            if (kind === "replace") await insist("PUT", `/Users/${id}`, { ...person, title: planned });
            else await insist("PATCH", `/Users/${id}`, setTo(kind === "on"));
            if (kind !== "replace") active = kind === "on";
          }
          fault = "none";
        }
      }
      const all = async (sql: string) => (await DB.prepare(sql).all()).results;
      expect(await all("SELECT active FROM scim_users")).toEqual(
        active === undefined ? [] : [{ active: active ? 1 : 0 }],
      );
      const status = active === true ? "active" : "suspended";
      expect(await all("SELECT status FROM memberships")).toEqual(active === undefined ? [] : [{ status }]);
      expect(await all("SELECT count(*) AS n FROM users")).toEqual([{ n: 1 }]);
      if (active !== undefined) await insist("DELETE", `/Users/${id}`);
      await DB.prepare("DELETE FROM users").run();
    });
    await fc.assert(history, { numRuns: runsLong ? 50 : 6 });
  });
});
