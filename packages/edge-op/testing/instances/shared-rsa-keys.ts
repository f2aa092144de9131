/**
 * **RSA key pairs are generated once and then used by every instance**, each under its own `kid`: `/jwks` contains six, which take a second to
 * generate. Elliptic-curve keys, which sign by default, are generated for each instance.
 */

import { current, type Instance } from "./instance.ts";

const { subtle } = crypto;
const generate = subtle.generateKey.bind(subtle);
type Pair = Awaited<ReturnType<typeof generate>>;
const pairs = new Map<string, Pair>();
const used = new WeakMap<Instance, Map<string, number>>();

/** The next pair that the instance does not have yet. A request must not wait for another request's promise, so only results are kept. */
async function sharedPair(instance: Instance, parameters: Parameters<typeof generate>): Promise<Pair> {
  const kind = JSON.stringify(parameters);
  const counts = used.get(instance) ?? new Map<string, number>();
  used.set(instance, counts);
  const count = counts.get(kind) ?? 0;
  counts.set(kind, count + 1);
  const key = `${kind} ${count}`;
  const pair = pairs.get(key) ?? (await generate(...parameters));
  pairs.set(key, pair);
  return pair;
}

export function shareRsaKeys(): void {
  const shared: typeof generate = (...parameters) => {
    const instance = current.getStore();
    const [algorithm] = parameters;
    const isRsa = typeof algorithm === "object" && algorithm.name.startsWith("RSA");
    return isRsa && instance !== undefined ? sharedPair(instance, parameters) : generate(...parameters);
  };
  Object.defineProperty(subtle, "generateKey", { value: shared });
}
