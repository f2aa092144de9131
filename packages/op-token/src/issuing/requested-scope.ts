import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { parseScope } from "@edge-op/protocol/oauth/scope";
import { shownValue } from "@edge-op/protocol/oauth/shown-value";
import type { Client } from "@edge-op/shared/clients/client";
import type { FormReader } from "@edge-op/shared/http/read-form";

/**
 * **The scope of a request within what its client registered.** Without a request, it is the entire registered scope; a value beyond it is refused
 * instead of dropped, so that a client does not mistake the scope of its token.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-3.3
 */
export function requestedScope(
  form: FormReader<"scope">,
  client: Client,
  /** The scope values that the requested resources add. */
  offered: { readonly values: readonly string[]; readonly byDefault: readonly string[] },
): string[] {
  const registered = parseScope(client.metadata.scope === "" ? undefined : client.metadata.scope) ?? [];
  const asked = parseScope(form.get("scope")) ?? [...new Set([...registered, ...offered.byDefault])];
  for (const value of asked) {
    if (!registered.includes(value) && !offered.values.includes(value))
      throw new OAuthError("invalid_scope", "scope-not-registered", {
        description: `The client is not registered for the scope ${shownValue(value)}.`,
      });
  }
  return asked;
}
