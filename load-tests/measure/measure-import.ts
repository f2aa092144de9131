/**
 * **`node load-tests/measure/measure-import.ts [users]`**: how fast a provider on this machine imports users with hashes, by the API, four requests
 * of 250 users at a time as `edge-op import` sends them. 50,000 users unless given.
 */

import { startProvider } from "../lib/start-provider.ts";

const total = Number(process.argv[2] ?? 50_000);
const atOnce = 250;
const parallel = 4;
const hash = "$2b$10$LcAJpQOdb9oREr9YKdrWNeeNgc4uAOIhmn/hoQop46xA8C2DhJI7y";

const provider = await startProvider({});
const { client_id: id, client_secret: secret } = provider.admin;

async function getToken(): Promise<string> {
  const response = await fetch(`${provider.origin}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
    body: new URLSearchParams({
      ...{ grant_type: "client_credentials", scope: "admin:users" },
      audience: `${provider.issuer}/admin`,
    }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

/** A token is used for a minute. */
const tokenMs = 60_000;
let next = 0;

async function importAll(): Promise<number> {
  let created = 0;
  let authorization = "";
  let renewAtMs = 0;
  while (next < total) {
    if (performance.now() >= renewAtMs) {
      authorization = `Bearer ${await getToken()}`;
      renewAtMs = performance.now() + tokenMs;
    }
    const first = next;
    next += atOnce;
    const users = Array.from({ length: Math.min(atOnce, total - first) }, (_, index) => {
      const name = `person${first + index}`;
      return {
        ...{ sub: `auth0|${name}`, username: name, password_hash: hash, created_at: 1_700_000_000 },
        claims: { name: `Person ${first + index}`, email: `${name}@example.com`, email_verified: true },
      };
    });
    const response = await fetch(`${provider.origin}/admin/import/users`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ users }),
    });
    const result = (await response.json()) as { created?: number };
    if (result.created === undefined) throw new Error(`${response.status} ${JSON.stringify(result)}`);
    created += result.created;
  }
  return created;
}

try {
  const startedAt = performance.now();
  const created = await Promise.all(Array.from({ length: parallel }, importAll));
  const seconds = (performance.now() - startedAt) / 1000;
  const count = created.reduce((sum, each) => sum + each, 0);
  console.log(`${count} users in ${seconds.toFixed(1)} s: ${Math.round(count / seconds)} a second`);
  console.log(`1,000,000 at this rate: ${(1_000_000 / (count / seconds) / 60).toFixed(1)} minutes`);
} finally {
  await provider.stop();
}
