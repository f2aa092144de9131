import { setTimeout as wait } from "node:timers/promises";
import type { Packages } from "./install.ts";
import type { ProductRun } from "./product-run.ts";

/** The behaviour that a product has shown; its script asserts each item. */
export interface Evidence {
  /** The claims of the person that the product has. */
  readonly claims: Readonly<Record<string, unknown>>;
  readonly refresh: string;
  readonly signOut: string;
}

export interface Product {
  /** Its name in docs/clients.md. */
  readonly name: string;
  /** Its registration in docs/clients.md; that of its row by default. */
  readonly registration?: string;
  readonly packages: Packages;
  show(run: ProductRun): Promise<Evidence>;
}

/** The person whom a product signs in. */
export const user = { username: "alice", password: "correct horse battery staple" };
/** The claims of this person. */
export const alice = {
  name: "Alice Adams",
  preferred_username: "alice",
  email: "alice@example.com",
  email_verified: true,
};

/** Waits for a condition, for a minute at most. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + 60_000; Date.now() < endMs; await wait(200)) if (await condition()) return;
  throw new Error(`not after a minute: ${what}`);
}
