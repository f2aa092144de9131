import type { Resource } from "@edge-op/shared/resources/resource";
import { beforeEach, describe, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { postForm } from "../../../test/fixtures/call.ts";
import { groupAllowances, resourceAllowances, withAttributes } from "../src/consent/allowances.ts";
import {
  authEnv,
  authorizationQuery,
  locationOf,
  redirectUri,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";

/** Requested access as shown to people: grouped by resource. */
const resourceOf = (identifier: string, name: string, descriptions: Readonly<Record<string, string>>): Resource => ({
  identifier,
  metadata: {
    name,
    clients: "any",
    scopes: Object.entries(descriptions).map(([value, description]) => ({ value, description })),
  },
});
const mail = resourceOf("https://mail.example/mcp", "Mail", { read: "Read your mail", send: "Send mail" });
const files = resourceOf("https://files.example/mcp", "Files", { read: "Read your files" });
const asked = [
  "openid",
  ...resourceAllowances(mail.identifier, ["read", "send"]),
  ...resourceAllowances(files.identifier, ["read"]),
  "claim:nickname",
];

it("one scope value at two resources is shown at each, with its description", () => {
  expect(groupAllowances(asked, [mail, files], "en")).toEqual({
    others: ["openid", "claim:nickname"],
    groups: [
      { identifier: "https://files.example/mcp", name: "Files", descriptions: ["Read your files"] },
      { identifier: "https://mail.example/mcp", name: "Mail", descriptions: ["Read your mail", "Send mail"] },
    ],
  });
});

it("a resource is shown in the person's language, as far as it has words in it", () => {
  const [read, send] = mail.metadata.scopes;
  const translated = { ...read!, translations: { de: "Ihre Mails lesen", pt: "Ler seus e-mails" } };
  const metadata = { ...mail.metadata, translations: { de: "Post", "zh-CN": "邮件" }, scopes: [translated, send!] };
  const shown = (language: string) => groupAllowances(asked, [{ ...mail, metadata }, files], language).groups[1];
  expect(shown("de")).toMatchObject({ name: "Post", descriptions: ["Ihre Mails lesen", "Send mail"] });
  expect(shown("zh-Hans")).toMatchObject({ name: "邮件", descriptions: ["Read your mail", "Send mail"] });
  expect(shown("pt-BR")).toMatchObject({ name: "Mail", descriptions: ["Ler seus e-mails", "Send mail"] });
  expect(shown("en")).toMatchObject({ name: "Mail", descriptions: ["Read your mail", "Send mail"] });
});

it("an attribute is shown beside the scope value that releases it, also at a resource, and once", () => {
  const attribute = (name: string, scope: string) => {
    const claim = { name, scope, tokens: ["userinfo" as const] };
    return { attribute: name, type: "string" as const, title: name, claim };
  };
  const attributes = [attribute("desk", "openid"), attribute("region", "send"), attribute("salary", "payroll")];
  expect(withAttributes([...asked, "claim:desk"], attributes)).toEqual([...asked, "claim:desk", "claim:region"]);
});

it("a deleted resource is shown by its identifier and scope values", () => {
  expect(groupAllowances(asked, [files], "en").groups[1]).toEqual({
    identifier: "https://mail.example/mcp",
    name: "https://mail.example/mcp",
    descriptions: ["read", "send"],
  });
});

it("a resource without scopes, and no resource", () => {
  expect(groupAllowances(resourceAllowances(files.identifier, []), [files], "en").groups).toEqual([
    { identifier: "https://files.example/mcp", name: "Files", descriptions: [] },
  ]);
  expect(groupAllowances(["openid"], [], "en")).toEqual({ others: ["openid"], groups: [] });
});

/** Consent for one resource covers no other resource, with or without a rule, whichever way it is requested. */
describe("RFC 8707 §2: a person consents to every requested resource", () => {
  useAnnouncedSetUp();

  const reads = resourceOf("https://reads.example/", "Reads", { read: "Read your things" });
  const sends = resourceOf("https://sends.example/", "Sends", { send: "Send for you" });
  const plain = "https://plain.example/";
  const other = "https://other.example/";
  const { fixtures, browser } = useDeployment({
    scope: "openid profile read send",
    audiences: [plain, other],
    grant_types: ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"],
  });

  beforeEach(async () => {
    await authEnv.DB.batch(
      [reads, sends].map(({ identifier, metadata }) =>
        authEnv.DB.prepare(
          `INSERT OR REPLACE INTO resources (identifier, resource_id, metadata, created_at_ms, updated_at_ms)
           VALUES (?1, ?1, ?2, 0, 0)`,
        ).bind(identifier, JSON.stringify(metadata)),
      ),
    );
  });

  interface Access {
    readonly scope: string;
    readonly at: readonly string[];
  }

  const parametersOf = ({ scope: value, at }: Access, more: Readonly<Record<string, string | undefined>>) => {
    const query = authorizationQuery({ scope: value, ...more });
    for (const resource of at) query.append("resource", resource);
    return query;
  };

  const authorize = (access: Access, more: Readonly<Record<string, string | undefined>> = {}) =>
    browser.get(`/authorize?${parametersOf(access, more)}`);

  async function push(access: Access, more: Readonly<Record<string, string>>): Promise<Response> {
    const query = parametersOf(access, more);
    const form = Object.fromEntries([...query.keys()].map((name) => [name, query.getAll(name)]));
    const pushed = await postForm(fixtures.app, authEnv, "/par", form, fixtures.client);
    const { request_uri } = await pushed.json<{ request_uri: string }>();
    return browser.get(`/authorize?${new URLSearchParams({ client_id: "app", request_uri })}`);
  }

  const openid = (...at: readonly string[]): Access => ({ scope: "openid", at });
  const read = (...at: readonly string[]): Access => ({ scope: "openid read", at });
  const isCovered: readonly [allowed: readonly Access[], requested: Access, covered: boolean][] = [
    [[read(reads.identifier)], read(reads.identifier), true],
    [[read(reads.identifier)], read(reads.identifier, plain), false],
    [[read(reads.identifier)], read(reads.identifier, sends.identifier), false],
    [[read(reads.identifier)], openid(reads.identifier), true],
    [[read(reads.identifier)], openid(plain), false],
    [[read(reads.identifier)], read(plain), false],
    [[read(reads.identifier)], read(), false],
    [[read(reads.identifier), openid(plain)], read(reads.identifier, plain), false],
    [[read(reads.identifier), read(plain)], read(reads.identifier, plain), true],
    [[read(reads.identifier, plain)], read(plain), true],
    [[read()], read(), true],
    [[read()], read(plain), false],
    [[read()], read(reads.identifier), false],
    [[read(plain)], read(), false],
    [[read(plain), { scope: "openid send", at: [other] }], read(other), false],
    [[openid()], openid(plain), false],
    [[openid(plain)], { scope: "openid profile", at: [plain] }, false],
    [[read(plain), openid(plain)], read(plain), true],
  ];
  const named = ({ scope: value, at }: Access) => `${value} at ${at.join(" and ") || "no resource"}`;

  it.each(
    isCovered.map(
      ([allowed, requested, covered]) =>
        [allowed.map(named).join("; "), named(requested), covered, allowed, requested] as const,
    ),
  )("after consent to %s, %s needs no consent: %s", async (_, __, covered, allowed, requested) => {
    for (const access of allowed) {
      let location = locationOf(await authorize(access));
      if (stepOf(location) === "sign-in") location = locationOf(await browser.signIn(location));
      if (stepOf(location) === "consent") location = locationOf(await browser.allow(location));
      expect(new URL(location).searchParams.get("code")).not.toBeNull();
    }
    for (const send of [authorize, push]) {
      const silent = new URL(locationOf(await send(requested, { prompt: "none" }))).searchParams;
      expect([silent.get("error"), silent.has("code")]).toEqual(covered ? [null, true] : ["consent_required", false]);
      const shown = locationOf(await send(requested, {}));
      expect(shown.startsWith(redirectUri)).toBe(covered);
    }
  });

  it("the consent page and the device page name every resource, and the scope value at each", async () => {
    await browser.signInWhole();
    const access = read(reads.identifier, sends.identifier, plain);
    const page = await (await browser.get(locationOf(await authorize(access)))).text();
    const form = { scope: access.scope, resource: access.at };
    const device = await postForm(fixtures.app, authEnv, "/device_authorization", form, fixtures.client);
    const { user_code: code } = await device.json<{ user_code: string }>();
    const devicePage = await (await browser.get(`/device?user_code=${code}`)).text();
    for (const html of [page, devicePage]) {
      const items = [...html.matchAll(/<li class="detail resource">(.*?)<\/li>/gs)].map(([, item = ""]) =>
        item.replaceAll(/<svg.*?<\/svg>/gs, "").replaceAll(/(<[^>]*>)+/g, "|"),
      );
      expect(items).toEqual([
        `|Use ${plain} on your behalf|read|`,
        `|Use Reads on your behalf|${reads.identifier}|Read your things|`,
        `|Use Sends on your behalf|${sends.identifier}|read|`,
      ]);
    }
  });

  it("consent for a device covers only its resources", async () => {
    await browser.signInWhole();
    const form = { scope: "openid read", resource: [reads.identifier, plain] };
    const device = await postForm(fixtures.app, authEnv, "/device_authorization", form, fixtures.client);
    const { user_code: code } = await device.json<{ user_code: string }>();
    const page = `/device?user_code=${code}`;
    const html = await (await browser.get(page)).text();
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1] ?? "";
    await browser.post("/device", {
      form_token: field("form_token"),
      user_code: field("user_code"),
      decision: "allow",
    });
    const errorOf = async (access: Access) =>
      new URL(locationOf(await authorize(access, { prompt: "none" }))).searchParams.get("error");
    expect(await errorOf(read(plain, reads.identifier))).toBeNull();
    expect(await errorOf(read(plain, other))).toBe("consent_required");
    expect(await errorOf(read())).toBe("consent_required");
  });

  it.each(["https://reads.example/ read", "https://plain.example/\n", "https://plain.example/\u0000"])(
    "a resource with characters of no URI (%j) is invalid_target",
    async (resource) => {
      const refused = new URL(locationOf(await authorize(openid(resource)))).searchParams;
      expect(refused.get("error")).toBe("invalid_target");
    },
  );
});
