import type { Client } from "../clients/client.ts";
import { isolateMemory, limits } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import type { Form } from "../http/read-form.ts";
import type { RequestContext } from "../http/request-context.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";

interface Known {
  readonly client: Client;
  /** A control version at which the client's record was current. */
  readonly stamp: number;
}

/**
 * **The clients that have authenticated by `client_secret_basic`**, by the text of the header (ADR 30): the same header authenticates the same client
 * until one of its secrets expires or a change names the client. Rate limits count each request. Cost: 0.
 */
export class KnownCredentials {
  readonly #control: ControlView;
  readonly #known = new IsolateCache<Known>({ maxBytes: isolateMemory.knownCredentials });

  constructor(control: ControlView) {
    this.#control = control;
  }

  get heldBytes(): number {
    return this.#known.bytes;
  }

  /** To be called within a decision. Returns `undefined` also if the form contains another credential; such a request is refused. */
  find({ arrivedAtMs, progress }: RequestContext<unknown>, header: string, form: Form): Client | undefined {
    const known = this.#known.get(header, arrivedAtMs);
    if (known === undefined || progress.reads === undefined) return undefined;
    const { client, stamp } = known;
    if (!this.#control.isCurrent("client", client.clientId, stamp)) return undefined;
    if (form.get("client_secret") !== undefined || form.get("client_assertion") !== undefined) return undefined;
    const named = form.get("client_id");
    if (named !== undefined && named !== client.clientId) return undefined;
    progress.reads.note("client", client.clientId);
    return client;
  }

  /** To be called within a decision. `endsAtMs`: when a secret of the client expires. */
  add({ arrivedAtMs, progress }: RequestContext<unknown>, header: string, client: Client, endsAtMs: number): void {
    if (endsAtMs <= arrivedAtMs || progress.reads?.areCurrent() !== true) return;
    const known: Known = { client, stamp: this.#control.version! };
    this.#known.set(header, known, Math.min(endsAtMs, arrivedAtMs + limits.rememberedMs));
  }
}
