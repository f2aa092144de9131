/**
 * **How often the first requests of a new isolate wait** when one isolate serves them all, and when each has its own. docs/operating/shapes.md has
 * the sums.
 */

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { postForm } from "../../../test/fixtures/call.ts";
import { DepthMeter } from "../../../test/fixtures/call-depth.ts";
import { seedClient } from "../../../test/fixtures/seed.ts";
import type { CompactEnv } from "../src/worker.ts";
import { createWorker } from "../src/worker.ts";

const bindings = env as unknown as CompactEnv;

useAnnouncedSetUp();

it("a token and its introspection: two waits and one in one isolate, two and two in an isolate each", {
  retry: 2,
}, async () => {
  const metadata = { introspection: { clients: ["*"] } };
  const { clientId, clientSecret } = await seedClient(bindings, "service", metadata);
  const client = { clientId, clientSecret };
  const depthsOf = async (first: ReturnType<typeof createWorker>, second: ReturnType<typeof createWorker>) => {
    const issuing = new DepthMeter(first, bindings);
    const issued = await postForm(issuing.app, issuing.env, "/token", { grant_type: "client_credentials" }, client);
    const { access_token: token } = await issued.json<{ access_token: string }>();
    const introspecting = new DepthMeter(second, bindings);
    const response = await postForm(introspecting.app, introspecting.env, "/introspect", { token }, client);
    expect(await response.json()).toMatchObject({ active: true });
    return [issuing.last.depth, introspecting.last.depth];
  };
  await depthsOf(createWorker(), createWorker());
  const compact = createWorker();
  expect(await depthsOf(compact, compact)).toEqual([2, 1]);
  expect(await depthsOf(createWorker(), createWorker())).toEqual([2, 2]);
});
