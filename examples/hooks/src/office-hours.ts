import { WorkerEntrypoint } from "cloudflare:workers";
import type { Hooks, SignInVerdict } from "@edge-op/hooks";

interface Env {
  readonly TIME_ZONE: string;
  /** The first hour, and the one after the last. */
  readonly OPENS: string;
  readonly CLOSES: string;
}

/** **Refuses sign-ins outside of office hours.** */
export default class extends WorkerEntrypoint<Env> implements Hooks {
  beforeSignIn(): SignInVerdict | undefined {
    const { TIME_ZONE: timeZone, OPENS, CLOSES } = this.env;
    const hour = Number(new Intl.DateTimeFormat("en", { hour: "numeric", hourCycle: "h23", timeZone }).format());
    return hour >= Number(OPENS) && hour < Number(CLOSES) ? undefined : { refuse: true };
  }
}
