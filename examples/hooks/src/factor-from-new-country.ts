import { WorkerEntrypoint } from "cloudflare:workers";
import type { Hooks, SignInRequest, SignInVerdict } from "@edge-op/hooks";

interface Env {
  /** The countries from which each person has signed in. */
  readonly SEEN: KVNamespace;
}

/** **Requires a second factor from a country that is new for the person**, and remembers it once they have proven one. */
export default class extends WorkerEntrypoint<Env> implements Hooks {
  async beforeSignIn({ user, amr, country = "unknown" }: SignInRequest): Promise<SignInVerdict | undefined> {
    const key = `${user.sub} ${country}`;
    if ((await this.env.SEEN.get(key)) !== null) return undefined;
    if (!amr.includes("mfa")) return { require: "mfa" };
    await this.env.SEEN.put(key, "1");
    return undefined;
  }
}
