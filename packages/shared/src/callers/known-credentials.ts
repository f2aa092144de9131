import type { Client } from "../clients/client.ts";
import { isolateMemory } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import { VersionMemory } from "../control/version-memory.ts";
import type { Form } from "../http/read-form.ts";
import type { RequestContext } from "../http/request-context.ts";

/**
 * **The clients that have authenticated by `client_secret_basic`**, by the text of the header (ADR 68): the same header authenticates the same
 * client until a secret of it ends or an administrator changes anything. Rate limits count each request. Cost: none.
 */
export class KnownCredentials {
  readonly #clients: VersionMemory<Client>;

  constructor(control: ControlView) {
    this.#clients = new VersionMemory(control, isolateMemory.knownCredentials);
  }

  get heldBytes(): number {
    return this.#clients.heldBytes;
  }

  /** Within a decision; `undefined` also where the form contains another credential, which is refused. */
  find(context: RequestContext<unknown>, header: string, form: Form): Client | undefined {
    const { reads } = context.progress;
    const client = reads === undefined ? undefined : this.#clients.get(context, header);
    if (client === undefined || form.get("client_secret") !== undefined || form.get("client_assertion") !== undefined) {
      return undefined;
    }
    const named = form.get("client_id");
    if (named !== undefined && named !== client.clientId) return undefined;
    reads?.note("client", client.clientId);
    return client;
  }

  add(context: RequestContext<unknown>, header: string, client: Client, endsAtMs: number): void {
    if (endsAtMs > context.arrivedAtMs) this.#clients.set(context, header, client, endsAtMs);
  }
}
