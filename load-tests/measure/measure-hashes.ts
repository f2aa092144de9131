/**
 * **`node load-tests/measure/measure-hashes.ts`**: the CPU time in workerd of a sign-in's verification, for an unknown user and for hashes of other
 * products at their usual cost and at the bounds of an import. What makes up for a cheaper hash is included.
 */

import { cpus } from "node:os";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { cpuMicroseconds, findRuntime } from "../lib/process-time.ts";

const salt = "MDEyMzQ1Njc4OWFiY2RlZg";
const key = "MjZP1+1U9JUbDWvDvtLyEsZiNXOKEUxfi6O2oe46uxA";
const hashes: Readonly<Record<string, string>> = {
  "unknown user": "",
  "scrypt N=2^14 r=8 p=5 (a new hash)": `$scrypt$ln=14,r=8,p=5$${salt}$${key}`,
  "scrypt N=2^14 r=16 p=1 (better-auth)": `$scrypt$ln=14,r=16,p=1$${salt}$${key}`,
  "scrypt N=2^16 r=8 p=2 (bound)": `$scrypt$ln=16,r=8,p=2$${salt}$${key}`,
  Firebase: `$firebase-scrypt$ln=14,r=8$${salt}$${key}$${key}`,
  "bcrypt 4": `$2b$04$${"a".repeat(53)}`,
  "bcrypt 10": `$2b$10$${"a".repeat(53)}`,
  "bcrypt 12": `$2b$12$${"a".repeat(53)}`,
  "bcrypt 13 (bound)": `$2b$13$${"a".repeat(53)}`,
  "PBKDF2-SHA256 27,500 (Keycloak)": `$pbkdf2-sha256$i=27500$${salt}$${key}`,
  "PBKDF2-SHA256 100,000 (the platform's maximum)": `$pbkdf2-sha256$i=100000$${salt}$${key}`,
  "PBKDF2-SHA256 600,000": `$pbkdf2-sha256$i=600000$${salt}$${key}`,
  "PBKDF2-SHA256 1,000,000 (bound)": `$pbkdf2-sha256$i=1000000$${salt}$${key}`,
  "PBKDF2-SHA1 1,300,000 (bound)": `$pbkdf2-sha1$i=1300000$${salt}$${key}`,
  "PBKDF2-SHA512 210,000 (Keycloak)": `$pbkdf2-sha512$i=210000$${salt}$k8YH0Yn3oOV/55BXLWBweWK4tppWYEpSjRW0XrRWj+KlhCNUXY/Sq/rSYmjEoC0m/4O1k8u7ZDR6pPsFXzu6/w`,
  "PBKDF2-SHA256 100,001": `$pbkdf2-sha256$i=100001$${salt}$3avmSeWY5DZ5AVLb46rS6es081sJ46eNFMPCESlISfA`,
  "PBKDF2-SHA512 300,000 (bound)": `$pbkdf2-sha512$i=300000$${salt}$${key}`,
  "argon2id 7 MiB t=5 (Keycloak)": `$argon2id$v=19$m=7168,t=5,p=1$${salt}$${key}`,
  "argon2id 19 MiB t=2 (OWASP)": `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${key}`,
  "argon2id 64 MiB t=3 p=4": `$argon2id$v=19$m=65536,t=3,p=4$${salt}$${key}`,
  "argon2id 64 MiB t=5 (bound)": `$argon2id$v=19$m=65536,t=5,p=1$${salt}$${key}`,
};
const rounds = 3;

const source = `
import { verifyPassword } from "./packages/shared/src/secrets/password-hash.ts";
export default { async fetch(request) {
  const stored = new URL(request.url).searchParams.get("hash") || undefined;
  try { await verifyPassword("correct horse", stored); return new Response("ok"); }
  catch (error) { return new Response(String(error), { status: 500 }); }
} };`;

const { outputFiles } = await build({
  stdin: { contents: source, resolveDir: new URL("../..", import.meta.url).pathname, loader: "ts" },
  ...{ bundle: true, format: "esm", target: "es2024", write: false, platform: "browser" },
  ...{ conditions: ["workerd", "worker", "browser"], external: ["node:*", "cloudflare:*"] },
});
const worker = new Miniflare(
  convertV4MiniflareOptions({
    ...{ modules: true, script: outputFiles[0]!.text },
    ...{ compatibilityDate: "2026-10-20", compatibilityFlags: ["nodejs_compat"] },
  }),
);
try {
  const origin = await worker.ready;
  const processId = findRuntime(process.pid);
  console.log(
    `${cpus()[0]?.model.trim()}, ${cpus().length} cores, mean of ${rounds} verifications one after another\n`,
  );
  console.log("| hash | CPU ms | elapsed ms |\n| --- | --- | --- |");
  for (const [name, hash] of Object.entries(hashes)) {
    const one = async () => {
      const response = await fetch(new URL(`/?${new URLSearchParams({ hash })}`, origin));
      if (response.status !== 200) throw new Error(await response.text());
    };
    await one();
    const cpuBefore = processId === undefined ? Number.NaN : cpuMicroseconds(processId);
    const startedAt = performance.now();
    for (let count = 0; count < rounds; count += 1) await one();
    const elapsed = (performance.now() - startedAt) / rounds;
    const cpu = processId === undefined ? Number.NaN : (cpuMicroseconds(processId) - cpuBefore) / 1000 / rounds;
    console.log(`| ${name} | ${Math.round(cpu)} | ${Math.round(elapsed)} |`);
  }
} finally {
  await worker.dispose();
}
