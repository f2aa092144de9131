import assert from "node:assert/strict";
import { page as clientsPage } from "../../scripts/reference/clients-page.ts";
import { alice, type Product, until } from "./product.ts";
import type { ProductRun } from "./product-run.ts";

/** Bundles and serves the application. */
export async function serveApplication(run: ProductRun): Promise<void> {
  const bundle = ["app.js", "--bundle", "--format=esm", "--outdir=www"];
  await run.start("esbuild", [...bundle, "--servedir=www", `--serve=127.0.0.1:${run.port}`, "--watch=forever"]);
}

/** The application of the page, with its key in IndexedDB; the section's own registration. */
export const openidClientInABrowser: Product = {
  name: "openid-client in a browser",
  registration: "spa",
  packages: { isHere: true },
  async show(run) {
    if (run.stage.issuer.startsWith("http:")) {
      const [, argument] = /one more argument: `([^`]+)`/.exec(clientsPage)!;
      run.write("app.js", run.read("app.js").replace("client.None())", `client.None(), ${argument})`));
    }
    await serveApplication(run);
    const page = await run.openPage();
    const person = () => page.textContent("#person");
    await page.goto(run.origin);
    await page.click("#sign-in");
    await run.signInOn(page);
    await until("signed in", async () => (await person()) === alice.name);

    await page.reload();
    await until("refreshed", async () => (await person()) === alice.name);
    assert.equal(run.tokenResponses, 2);

    await page.click("#sign-out");
    await until(
      "signed out",
      async () => new URL(page.url()).origin === run.origin && (await person()) === "Not signed in",
    );
    await page.goto(`${run.stage.issuer}/account`);
    await page.waitForSelector("#username");
    return { claims: { name: alice.name }, refresh: "rotated, bound by DPoP", signOut: "RP-initiated" };
  },
};
