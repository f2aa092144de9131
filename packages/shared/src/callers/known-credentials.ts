import type { Client } from "../clients/client.ts";
import { isolateMemory } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import { VersionMemory } from "../control/version-memory.ts";
import type { Form } from "../http/read-form.ts";
import type { RequestContext } from "../http/request-context.ts";

/**
 * **The clients that have authenticated by `client_secret_basic`**, by the text of the header (ADR 30): the same header authenticates the same client
 * until a secret of it ends or an administrator changes anything. Rate limits count each request. Cost: 0.
 */
export class KnownCredentials {
  readonly #clients: VersionMemory<Client>;

  constructor(control: ControlView) {
    this.#clients = new VersionMemory(control, isolateMemory.knownCredentials);
  }

  get heldBytes(): number {
    return this.#clients.heldBytes;
  }

  /** Valid within a decision. Returns `undefined` also if the form contains another credential; such a request is refused. */
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
    this.#clients.set(context, header, client, endsAtMs);
  }
}
