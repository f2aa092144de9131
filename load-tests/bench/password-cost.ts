/**
 * **`node load-tests/bench/password-cost.ts`**: the CPU time that one password costs in workerd, for each function and its parameters that OWASP
 * accepts and workerd supports natively.
 *
 * @see https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#scrypt
 */

import { cpus } from "node:os";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { cpuMicroseconds, findRuntime } from "../lib/process-time.ts";

const candidates = [
  { name: "scrypt N=2^13 r=8 p=10 (8 MiB)", query: "ln=13&p=10" },
  { name: "scrypt N=2^14 r=8 p=5 (16 MiB)", query: "ln=14&p=5" },
  { name: "scrypt N=2^15 r=8 p=3 (32 MiB)", query: "ln=15&p=3" },
  { name: "scrypt N=2^16 r=8 p=2 (64 MiB)", query: "ln=16&p=2" },
  { name: "scrypt N=2^17 r=8 p=1 (128 MiB)", query: "ln=17&p=1" },
  { name: "PBKDF2-HMAC-SHA256, 600,000 rounds", query: "rounds=600000" },
  { name: "PBKDF2-HMAC-SHA256, 100,000 rounds (below the minimum)", query: "rounds=100000" },
];
const hashes = 10;

const script = `
import { scrypt } from "node:crypto";
const salt = new Uint8Array(16);
async function hash(query) {
  if (query.has("rounds")) {
    const key = await crypto.subtle.importKey("raw", new TextEncoder().encode("correct horse"), "PBKDF2", false, ["deriveBits"]);
    await crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt, iterations: Number(query.get("rounds")) }, key, 256);
    return;
  }
  const N = 2 ** Number(query.get("ln")), r = 8, p = Number(query.get("p"));
  await new Promise((resolve, reject) =>
    scrypt("correct horse", salt, 32, { N, r, p, maxmem: 128 * r * (N + p + 2) }, (error) => (error ? reject(error) : resolve())));
}
export default { async fetch(request) {
  try { await hash(new URL(request.url).searchParams); return new Response("ok"); }
  catch (error) { return new Response(String(error), { status: 500 }); }
} };`;

const worker = new Miniflare(
  convertV4MiniflareOptions({
    modules: true,
    script,
    compatibilityDate: "2026-10-20",
    compatibilityFlags: ["nodejs_compat"],
  }),
);
try {
  const origin = await worker.ready;
  const processId = findRuntime(process.pid);
  console.log(`${cpus()[0]?.model.trim()}, ${cpus().length} cores, mean of ${hashes} hashes one after another\n`);
  console.log("| function | CPU ms | elapsed ms |\n| --- | --- | --- |");
  for (const { name, query } of candidates) {
    const one = async () => {
      const response = await fetch(new URL(`/?${query}`, origin));
      if (response.status !== 200) throw new Error(await response.text());
    };
    try {
      await one();
      const cpuBefore = processId === undefined ? Number.NaN : cpuMicroseconds(processId);
      const startedAt = performance.now();
      for (let count = 0; count < hashes; count += 1) await one();
      const elapsed = (performance.now() - startedAt) / hashes;
      const cpu = processId === undefined ? Number.NaN : (cpuMicroseconds(processId) - cpuBefore) / 1000 / hashes;
      console.log(`| ${name} | ${Math.round(cpu)} | ${Math.round(elapsed)} |`);
    } catch (error) {
      console.log(`| ${name} | not possible: ${String(error).slice(0, 100)} | |`);
    }
  }
} finally {
  await worker.dispose();
}
