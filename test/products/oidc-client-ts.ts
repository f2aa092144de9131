import assert from "node:assert/strict";
import { serveApplication } from "./openid-client-in-a-browser.ts";
import { alice, type Product, until } from "./product.ts";

export const oidcClientTs: Product = {
  name: "oidc-client-ts",
  packages: { npm: ["oidc-client-ts@3.5.0"] },
  async show(run) {
    const button = (id: string) => `<button id="${id}">${id}</button>`;
    run.write(
      "www/index.html",
      `<p id="person"></p>${["sign-in", "refresh", "sign-out"].map(button).join("")}<script type="module" src="/app.js"></script>`,
    );
    await serveApplication(run);
    const page = await run.openPage();
    const person = () => page.textContent("#person");
    await page.goto(run.origin);
    await until("loaded", async () => (await person()) === "Not signed in");
    await page.click("#sign-in");
    await run.signInOn(page);
    await until("signed in", async () => (await person()) === alice.name);

    await page.click("#refresh");
    await until("refreshed", () => run.tokenResponses === 2);

    await page.click("#sign-out");
    await until(
      "signed out",
      async () => new URL(page.url()).origin === run.origin && (await person()) === "Not signed in",
    );
    await page.goto(`${run.stage.issuer}/account`);
    await page.waitForSelector("#username");
    assert.equal(run.tokenResponses, 2);
    return { claims: { name: alice.name }, refresh: "rotated, bound by DPoP", signOut: "RP-initiated" };
  },
};
