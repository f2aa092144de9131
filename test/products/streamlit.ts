import assert from "node:assert/strict";
import { alice, type Product } from "./product.ts";

/** Its pages are drawn over a WebSocket, so that it needs a real browser. */
export const streamlit: Product = {
  name: "Streamlit",
  packages: { pip: ["streamlit[auth]==1.67.0"] },
  async show(run) {
    await run.start("streamlit", ["run", "app.py", "--server.port", run.port, "--server.headless", "true"]);
    const page = await run.openPage();
    await page.goto(run.origin);
    await page.getByRole("button", { name: "Sign in" }).click();
    await run.signInOn(page);
    const claims = JSON.parse((await page.getByTestId("stCode").textContent())!) as Record<string, unknown>;
    assert.deepEqual([claims["name"], claims["email"]], [alice.name, alice.email]);

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await page.goto(`${run.stage.issuer}/account`);
    await page.waitForSelector("#username");
    return { claims, refresh: "none", signOut: "RP-initiated" };
  },
};
