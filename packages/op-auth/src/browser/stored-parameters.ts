import { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";

/**
 * **Parameters kept for their next request**: pushed by a client (RFC 9126), or posted by a browser from another site, which
 * sends no Lax cookies: the request goes on as a GET that does. Taken once. Cost: 1 object call to keep, 2 to take.
 */
export interface StoredParameters {
  readonly parameters: Form;
  /** The client that authenticated when it pushed them; `undefined` for what a browser posted. */
  readonly pushedBy: string | undefined;
}

interface StoredForm {
  readonly values: readonly (readonly [string, readonly string[]])[];
  readonly pushedBy?: string;
}

export async function storeParameters(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  names: readonly string[],
  { parameters, pushedBy }: StoredParameters,
  lifetimeMs: number,
): Promise<string> {
  const values = names.map((name) => [name, parameters.all(name)] as const).filter(([, all]) => all.length > 0);
  const stored: StoredForm = { values, ...(pushedBy === undefined ? {} : { pushedBy }) };
  return isolate.challenges.put(context, JSON.stringify(stored), context.arrivedAtMs + lifetimeMs);
}

/** Only for whom they are meant, as `isMeant` says: another one's attempt leaves them where they are. */
export async function takeParameters(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  id: string,
  isMeant: (stored: StoredParameters) => boolean,
): Promise<StoredParameters | undefined> {
  const seen = readStored(await isolate.challenges.peek(context, id));
  if (seen === undefined || !isMeant(seen)) return undefined;
  return readStored(await isolate.challenges.take(context, id));
}

function readStored(text: string | undefined): StoredParameters | undefined {
  if (text === undefined) return undefined;
  const { values, pushedBy } = JSON.parse(text) as StoredForm;
  return { parameters: new Form(new Map(values)), pushedBy };
}
