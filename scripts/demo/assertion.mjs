/**
 * **Prints a JWT by which the demo's batch service asserts a user** (RFC 7523 §2.1): `node scripts/demo/assertion.mjs alice`. Plain JavaScript
 * without dependencies, so that the README's walk runs on any Node.
 */

import { createPrivateKey, randomUUID, sign } from "node:crypto";
import { readFileSync } from "node:fs";

const { issuer, clients, users } = JSON.parse(readFileSync(new URL("../../.op/dev.json", import.meta.url), "utf8"));
const { client_id, private_jwk } = clients.asserter;
const user = users[process.argv[2]];
if (user === undefined) {
  console.error(`Name a user of the demo: ${Object.keys(users).join(", ")}.`);
  process.exit(2);
}

const now = Math.floor(Date.now() / 1000);
const header = { alg: "ES256", kid: private_jwk.kid };
const claims = { iss: client_id, sub: user.sub, aud: issuer, iat: now, exp: now + 300, jti: randomUUID() };
const input = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
const key = createPrivateKey({ key: private_jwk, format: "jwk" });
const signature = sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" });
console.log(`${input}.${signature.toString("base64url")}`);
