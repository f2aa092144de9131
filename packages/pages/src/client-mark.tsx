import type { Client } from "@edge-op/shared/clients/client";

/** **The name, logo and links of a client, for pages.** Only https URLs are shown, because browsers follow them from this origin. */
export function clientMark({ clientId, metadata, origin }: Client) {
  const secure = (uri: string | undefined) => (uri?.startsWith("https://") ? uri : undefined);
  return {
    name: metadata.client_name ?? (origin === "document" ? new URL(clientId).hostname : clientId),
    // Browsers load the logo from the client's URL, which nobody has checked for a client that no administrator has registered.
    logoUri: origin === undefined ? secure(metadata.logo_uri) : undefined,
    policyUri: secure(metadata.policy_uri),
    tosUri: secure(metadata.tos_uri),
  };
}

/** A client's logo, or the initial of its name: also instead of a logo that does not load, as its alternative text, which needs no script. */
export function ClientMark({ name, logoUri }: { readonly name: string; readonly logoUri: string | undefined }) {
  const initial = [...name][0]?.toUpperCase();
  return (
    <span class={logoUri ? "mark logo" : "mark"} aria-hidden="true">
      {logoUri ? <img src={logoUri} alt={initial} height="48" referrerpolicy="no-referrer" /> : initial}
    </span>
  );
}
