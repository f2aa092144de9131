import { WorkerEntrypoint } from "cloudflare:workers";
import type { Hooks, SignInRequest, SignInVerdict } from "@edge-op/hooks";

interface Env {
  /** Domains, separated by spaces. */
  readonly DISPOSABLE: string;
}

/** **Refuses people whose address is at a domain of disposable mail**, also if they have just signed up. */
export default class extends WorkerEntrypoint<Env> implements Hooks {
  beforeSignIn({ user }: SignInRequest): SignInVerdict | undefined {
    const [, domain = ""] = String(user.claims["email"] ?? "")
      .toLowerCase()
      .split("@");
    return this.env.DISPOSABLE.split(" ").includes(domain) ? { refuse: true } : undefined;
  }
}
