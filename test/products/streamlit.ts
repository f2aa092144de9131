import assert from "node:assert/strict";
import { alice, type Product } from "./stage.ts";

export const streamlit: Product = {
  name: "Streamlit",
  packages: { pip: ["streamlit[auth]==1.67.0"] },
  async show(run) {
    await run.start("streamlit", ["run", "app.py", "--server.port", run.port, "--server.headless", "true"]);
    const shown = await run.browser.open(`${run.origin}/auth/login?provider=default`);
    console.log(shown.url, shown.status, shown.text.slice(0, 500));
    assert.ok(shown.text.includes(alice.preferred_username));
    return { claims: {}, refresh: "", signOut: "" };
  },
};
