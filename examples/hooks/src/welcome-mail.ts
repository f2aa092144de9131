import { WorkerEntrypoint } from "cloudflare:workers";
import type { Hooks, SignUpEvent } from "@edge-op/hooks";

interface Env {
  /** The endpoint of a mail API. */
  readonly MAIL_API: string;
}

/** **Welcomes a person who has created an account**, by mail. */
export default class extends WorkerEntrypoint<Env> implements Hooks {
  async afterSignUp({ claims }: SignUpEvent): Promise<void> {
    const mail = {
      to: claims["email"],
      subject: "Welcome",
      text: `Hello ${String(claims["name"])}, good to have you.`,
    };
    await fetch(this.env.MAIL_API, { method: "POST", body: JSON.stringify(mail) });
  }
}
