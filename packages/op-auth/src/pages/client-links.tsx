import type { Translator } from "@edge-op/pages/translator";
import type { MessageKey } from "./messages.ts";

/** The pages of a client that people may read before they sign in or decide. */
export interface ClientPages {
  readonly policyUri: string | undefined;
  readonly tosUri: string | undefined;
}

/** **Links to a client's privacy policy and terms of service.** @see https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata */
export function ClientLinks({ t, client }: { readonly t: Translator<MessageKey>; readonly client: ClientPages }) {
  if (client.policyUri === undefined && client.tosUri === undefined) return undefined;
  return (
    <nav class="links">
      {client.policyUri && <a href={client.policyUri}>{t("consent.policy")}</a>}
      {client.tosUri && <a href={client.tosUri}>{t("consent.terms")}</a>}
    </nav>
  );
}
