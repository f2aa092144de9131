import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalProvider } from "../../../packages/edge-op/src/local-provider.ts";
import { Person, textOf } from "../../../packages/edge-op/testing/person.ts";
import { Application } from "../../conformance/fixtures/application.ts";
import { ProviderFixtures } from "../../conformance/fixtures/provider-fixtures.ts";
import { install } from "../install.ts";
import { Bridge, createSigner } from "./bridge.ts";

interface Posted {
  readonly SAMLResponse: string;
  readonly RelayState: string;
}

const companies = ["acme", "other"] as const;

/** A change of the assertion, as somebody makes it who has no key. */
function rewrite({ SAMLResponse, RelayState }: Posted, change: (xml: string) => string): Posted {
  const xml = Buffer.from(SAMLResponse, "base64").toString();
  const changed = change(xml);
  assert.notEqual(changed, xml);
  return { SAMLResponse: Buffer.from(changed).toString("base64"), RelayState };
}

/**
 * **docs/operating/saml.md**: people of two companies sign in through a bridge for SAML, and what is forged, of the other company or old signs nobody
 * in.
 */
async function show(): Promise<object> {
  const folder = join(tmpdir(), "edge-op-products", "saml-jackson");
  await install(folder, { npm: ["@boxyhq/saml-jackson@26.2.0", "samlp@7.1.1"] });
  const provider = await startLocalProvider();
  const callbackOf = (company: string) => `${provider.issuer}/upstream/${company}/callback`;
  const bridge = await Bridge.start(folder, Object.fromEntries(companies.map((each) => [each, callbackOf(each)])));
  try {
    const fixtures = new ProviderFixtures(provider);
    const application = await Application.register(fixtures, {}, { scope: "openid profile email" });
    for (const company of companies) {
      await fixtures.admin.require("POST", "/upstreams", {
        ...{ upstream_id: company, name: company, issuer: bridge.issuer, ...bridge.clients.get(company) },
        ...{ required_claims: { "/requested/tenant": company }, sign_up: "anyone" },
        claims: { given_name: "firstName", family_name: "lastName" },
      });
    }
    const begin = async (company: string) => {
      const browser = new Person(provider.issuer, { username: "", password: "" });
      const page = await browser.openPage(application.authorizationUrl());
      const left = await browser.submit(page, { "sign-in": { upstream: company } });
      if (left.kind === "page") throw new Error(textOf(left.html));
      const atBridge = await fetch(left.url, { redirect: "manual" });
      const asserted = await fetch(atBridge.headers.get("location")!);
      return { browser, posted: (await asserted.json()) as Posted };
    };
    const post = (posted: Posted) =>
      fetch(`${bridge.issuer}/acs`, { method: "POST", body: new URLSearchParams({ ...posted }), redirect: "manual" });
    /** The end of a sign-in: `code`, or the status of who refuses. */
    const finish = async (browser: Person, posted: Posted): Promise<string> => {
      const response = await post(posted);
      const location = response.headers.get("location");
      if (location === null) return `bridge: ${((await response.json()) as { error: string }).error}`;
      const end = await browser.visit(new URL(location)).catch((error: unknown) => String(error));
      return typeof end !== "string" && end.url.searchParams.has("code") ? "code" : "refused here";
    };
    const signIn = async (company: string) => {
      const { browser, posted } = await begin(company);
      return finish(browser, posted);
    };
    assert.deepEqual([await signIn("acme"), await signIn("other"), await signIn("acme")], ["code", "code", "code"]);
    const countPeople = async () => {
      const { users } = (await fixtures.admin.require("GET", "/users?limit=100")) as { users: object[] };
      return users.length;
    };
    const people = await countPeople();

    const attacks: Record<string, string> = {};
    const attack = async (name: string, change: (posted: Posted) => Posted | Promise<Posted>) => {
      const { browser, posted } = await begin("acme");
      attacks[name] = await finish(browser, await change(posted));
      assert.notEqual(attacks[name], "code", name);
    };
    await attack("another NameID", (posted) => rewrite(posted, (xml) => xml.replace(/>u-1</, ">u-2<")));
    await attack("no signature", (posted) => rewrite(posted, (xml) => xml.replace(/<Signature.*<\/Signature>/s, "")));
    await attack("an assertion of the other company", async ({ RelayState }) => ({
      ...(await begin("other")).posted,
      RelayState,
    }));
    const usual = bridge.signers.get("acme")!;
    bridge.signers.set("acme", createSigner(folder, "acme-replaced"));
    await attack("a certificate that the bridge does not know", (posted) => posted);
    bridge.signers.set("acme", usual);

    // Canonical XML has no comments, so the signature is right: whose name the bridge reads must be, too.
    const commented = await begin("acme");
    await finish(
      commented.browser,
      rewrite(commented.posted, (xml) => xml.replace(/>u-1</, ">u-<!-- -->1<")),
    );
    assert.equal(await countPeople(), people);

    const { browser, posted } = await begin("acme");
    assert.equal(await finish(browser, posted), "code");
    attacks["a replay in another browser"] = await finish((await begin("acme")).browser, posted);
    assert.notEqual(attacks["a replay in another browser"], "code");

    await fixtures.admin.require("PATCH", "/upstreams/acme", { required_claims: { "/requested/tenant": "other" } });
    attacks["a bridge that confuses its tenants"] = await signIn("acme");
    assert.equal(attacks["a bridge that confuses its tenants"], "refused here");
    assert.equal(await countPeople(), people);
    return { people, ...attacks };
  } finally {
    await bridge.stop();
    await provider.stop();
  }
}

export const samlProducts = [{ name: "SAML: saml-jackson and samlp", show }];
