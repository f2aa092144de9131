/**
 * **The baseline**: a Worker in place of an endpoint Worker that sends a constant as large as a real response, after only the unavoidable work: a raw
 * signature or verification, a durable write in an object. It runs behind the real front door or on its own socket.
 */

import type { RefreshTokenRotator } from "./floor-objects.ts";

interface FloorEnv {
  readonly REFRESH_TOKEN_ROTATOR: DurableObjectNamespace<RefreshTokenRotator>;
}

const constant = JSON.stringify({ active: true, filler: "x".repeat(420) });
/** As large as the discovery document (4.5 KB) and the key set (4.1 KB) of a new deployment. */
const document = JSON.stringify({ filler: "x".repeat(4_300) });
const message = new TextEncoder().encode("m".repeat(600));
const headers = { "Content-Type": "application/json", "Cache-Control": "no-store" };
/** As many objects as a fresh deployment has refresh shards. */
const objects = 8;

const algorithms = {
  ES256: {
    key: { name: "ECDSA", namedCurve: "P-256" },
    sign: { name: "ECDSA", hash: "SHA-256" },
  },
  RS256: {
    key: { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    sign: { name: "RSASSA-PKCS1-v1_5" },
  },
} as const;

interface Prepared {
  readonly pair: CryptoKeyPair;
}

const prepared = new Map<string, Prepared>();

async function prepare(name: keyof typeof algorithms): Promise<Prepared> {
  const held = prepared.get(name);
  if (held !== undefined) return held;
  const { key } = algorithms[name];
  const made = { pair: (await crypto.subtle.generateKey(key, false, ["sign", "verify"])) as CryptoKeyPair };
  prepared.set(name, made);
  return made;
}

let turn = 0;

/**
 * Writes one row per call, as long as a family: unlike an endpoint, the floor does not share calls. SQLite writes no page for a value that is there.
 */
async function write({ REFRESH_TOKEN_ROTATOR: namespace }: FloorEnv): Promise<void> {
  turn += 1;
  const stub = namespace.get(namespace.idFromName(`floor:${turn % objects}`));
  await stub.write(`family:${turn % (objects * 2)}`, String(turn).padEnd(400, "r"));
}

async function sign(name: string): Promise<void> {
  if (name !== "ES256" && name !== "RS256") throw new Error(`no algorithm ${name}`);
  const { pair } = await prepare(name);
  await crypto.subtle.sign(algorithms[name].sign, pair.privateKey, message);
}

/** `work` is "none" or the steps in order: "write + sign ES256 + sign RS256". A GET has no work. */
export default {
  async fetch(request, env) {
    if (request.method === "GET") {
      return new Response(request.url.endsWith("?document") ? document : constant, { headers });
    }
    const form = new URLSearchParams(await request.text());
    for (const work of (form.get("work") ?? "").split(" + ")) {
      if (work === "write") await write(env);
      else if (work !== "none") await sign(work.slice("sign ".length));
    }
    return new Response(constant, { headers });
  },
} satisfies ExportedHandler<FloorEnv>;
