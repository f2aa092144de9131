import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { CuttableProxy } from "./cuttable-proxy.ts";

const storagePrefix = "__miniflare_storage_candidate__-";
const everyMs = 1000;

interface Entry {
  readonly debugPortAddress: string;
  readonly storageScope?: string;
}

const isEntry = objectOf<Entry>({ debugPortAddress: isText });

/**
 * **Copies the provider's entries of Miniflare's registry into an isolate's own**, with the address of the proxy in place of the provider's. It
 * repeats this each second, because entries expire without a heartbeat and a restarted provider has a new address. The entry of the storage's owner
 * keeps its name, so that it stays the oldest: an isolate must never become the owner.
 */
export function mirrorRegistry(from: string, to: string, proxy: CuttableProxy): void {
  const copyAll = () => {
    const names = existsSync(from) ? readdirSync(from) : [];
    for (const name of names) copyEntry(join(from, name), join(to, mirroredName(name)), proxy);
  };
  copyAll();
  setInterval(copyAll, everyMs).unref();
}

function mirroredName(name: string): string {
  return name.startsWith(storagePrefix) ? `${storagePrefix}provider` : name;
}

function copyEntry(from: string, to: string, proxy: CuttableProxy): void {
  const entry = readEntry(from);
  if (entry === undefined) return;
  const [host, port] = entry.debugPortAddress.split(":");
  proxy.target = { host: host!, port: Number(port) };
  writeFileSync(to, JSON.stringify({ ...entry, debugPortAddress: proxy.address }));
}

/** `undefined` while the provider writes it or after it was removed. */
function readEntry(path: string): Entry | undefined {
  try {
    return readStored(path, readFileSync(path, "utf8"), isEntry);
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
