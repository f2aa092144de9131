import { WorkerEntrypoint } from "cloudflare:workers";
import type { Hooks, SignInRequest, SignInVerdict } from "@edge-op/hooks";

interface Env {
  /** The countries from which each person has signed in. */
  readonly SEEN: KVNamespace;
}

/**
 * **Requires a second factor from a country that is new for the person**, and remembers it once they have proven one. It protects those who have a
 * second factor: whoever knows the password of somebody without one sets one up. `NEW_BROWSER=code` beside it asks for a code of the mailbox first.
 */
export default class extends WorkerEntrypoint<Env> implements Hooks {
  async beforeSignIn({ user, amr, country = "unknown" }: SignInRequest): Promise<SignInVerdict | undefined> {
    const key = `${user.sub} ${country}`;
    if ((await this.env.SEEN.get(key)) !== null) return undefined;
    if (!amr.includes("mfa")) return { require: "mfa" };
    await this.env.SEEN.put(key, "1");
    return undefined;
  }
}
