import { OAuthError } from "@edge-op/protocol/oauth/errors";

/** **A refusal that concerns the person alone**: a page that has expired or was used. It is shown, and never sent to the client. */
export class ShownError extends OAuthError {
  /** Where the person can go on; `client` is the name of the application, if one waits for them. */
  next: { readonly href: string; readonly client: string | undefined } | undefined;
  /** The `ui_locales` of what the person was doing. */
  uiLocales: readonly string[] | undefined;
}
