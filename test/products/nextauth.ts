import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { alice, type Product } from "./product.ts";

/** Its session is a cookie with the tokens; the callback `jwt` refreshes them. */
export const nextauth: Product = {
  name: "NextAuth",
  packages: { npm: ["next-auth@4.24.15", "next@16.4.6", "react@19.3.1", "react-dom@19.3.1"] },
  async show(run) {
    rmSync(join(run.folder, ".next"), { recursive: true, force: true });
    run.write("app/layout.js", "export default ({ children }) => <html><body>{children}</body></html>;");
    run.write("app/page.js", `export default () => "Welcome";`);
    const variables = { NEXTAUTH_URL: run.origin, NEXT_TELEMETRY_DISABLED: "1" };
    await run.start("next", ["dev", "--port", run.port], variables);
    await run.changeClient({ access_token_lifetime: 20 });
    const read = async (path: string) =>
      JSON.parse((await run.browser.open(run.origin + path)).text) as Record<string, unknown>;
    const { csrfToken } = await read("/api/auth/csrf");
    await run.browser.open(`${run.origin}/api/auth/signin/edge-op`, {
      method: "POST",
      body: new URLSearchParams({ csrfToken: String(csrfToken), callbackUrl: run.origin }),
    });
    const { user: claims } = await read("/api/auth/session");
    assert.deepEqual(claims, { name: alice.name, email: alice.email });

    await wait(20_000);
    assert.deepEqual((await read("/api/auth/session"))["user"], claims);
    assert.equal(run.tokenResponses, 2);

    await run.browser.open(`${run.origin}/logout`);
    assert.deepEqual(await read("/api/auth/session"), {});
    assert.equal(await run.isSignedInAtProvider(), false);
    return { claims: claims as Record<string, unknown>, refresh: "rotated", signOut: "RP-initiated" };
  },
};
