import { afterEach, describe, expect, it, vi } from "vitest";
import { lookUpRecord, recordValue } from "../src/organizations/domain-record.ts";

const env = { OP_MASTER_KEY: "A".repeat(43) };
const claimed = { issuer: "https://op.example.com", orgId: "acme", domain: "corp.example" };
const value = await recordValue(env, claimed);

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Two resolvers, by host. */
function resolvers(first: () => Response | Promise<Response>, second = first): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url);
    return url.startsWith("https://dns.google/") ? second() : first();
  });
  return asked;
}

const reply = (body: object) => () => Response.json(body);
const found = (data: string) => reply({ Status: 0, Answer: [{ name: "_edge-op.corp.example", type: 16, data }] });
const nothing = reply({ Status: 3 });

describe("the record of a domain", () => {
  it("is a MAC of issuer, organisation and domain, which a new master key leaves as it is", async () => {
    expect(value).toMatch(/^[\w-]{22}$/);
    for (const other of [{ issuer: "https://b.example" }, { orgId: "zeta" }, { domain: "b.example" }]) {
      expect(await recordValue(env, { ...claimed, ...other })).not.toBe(value);
    }
    const replaced = { OP_MASTER_KEY: "B".repeat(43), OP_PAIRWISE_KEY: env.OP_MASTER_KEY };
    expect(await recordValue(replaced, claimed)).toBe(value);
  });

  it("is looked up at both resolvers, quoted or in parts", async () => {
    for (const data of [value, `"${value}"`, `"${value.slice(0, 9)}" "${value.slice(9)}"`]) {
      const asked = resolvers(found(data));
      expect(await lookUpRecord(env, claimed)).toBe("present");
      expect(asked).toEqual([
        "https://cloudflare-dns.com/dns-query?name=_edge-op.corp.example&type=TXT",
        "https://dns.google/resolve?name=_edge-op.corp.example&type=TXT",
      ]);
    }
  });

  it("is absent if both say so: no such name, no such type, another value", async () => {
    const answers = [
      nothing,
      reply({ Status: 0 }),
      found("other"),
      reply({ Status: 0, Answer: [{ type: 5, data: value }] }),
    ];
    for (const answer of answers) {
      resolvers(answer);
      expect(await lookUpRecord(env, claimed)).toBe("absent");
    }
  });

  it("is unknown when one forges, fails, truncates, redirects, or sends too much", async () => {
    const faults: readonly (() => Response | Promise<Response>)[] = [
      nothing,
      () => Promise.reject(new Error("no route")),
      reply({ Status: 2 }),
      reply({ Status: 0, TC: true, Answer: [{ type: 16, data: value }] }),
      reply({ Status: 0, Answer: "none" }),
      reply([]),
      () => new Response("<html>", { status: 200 }),
      () => new Response(null, { status: 503 }),
      () => new Response(null, { status: 302, headers: { location: "https://evil.example" } }),
      () => new Response(" ".repeat(20_000)),
    ];
    for (const fault of faults) {
      for (const [first, second] of [[found(value), fault] as const, [fault, found(value)] as const]) {
        resolvers(first, second);
        expect(await lookUpRecord(env, claimed)).toBe("unknown");
      }
    }
  });

  it("is asked for by no more than two resolvers of the caller's choice", async () => {
    const asked = resolvers(found(value));
    expect(await lookUpRecord(env, claimed, ["https://one.example/q", "https://two.example/q"])).toBe("present");
    expect(asked.map((url) => new URL(url).host)).toEqual(["one.example", "two.example"]);
  });
});
