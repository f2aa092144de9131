import { encodeBase64Url, randomBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import type { ClientResource } from "../api/resources.ts";
import { recordPath } from "../records/record.ts";
import { definePage } from "../serve/define-page.tsx";
import { Actions, clip, countFitting, RecordHead } from "../serve/parts.tsx";

/** Bytes of links: each URI is in two, and a page has 50 kB. */
const longestLinks = 30_000;

/** How many of a client's redirect URIs have links: the first ones, and one at least. */
function fitting(redirectUris: readonly string[]): number {
  const bytes = redirectUris.map((uri) => 2 * (encodeURIComponent(uri).length + 600));
  return Math.max(1, countFitting(bytes, longestLinks));
}

/**
 * **Links to the sign-in and the consent page of a client**: the provider's own pages, so that the preview cannot differ from what people see. The
 * response has a `state` of nobody, which the application refuses; its code is bound to a verifier that nobody keeps.
 */
export const testSignIn = definePage({
  path: "/console/clients/:id/test",
  scope: "admin:clients",
  operations: ["readClient"],
  async show({ api, t, parameter, context }) {
    const client = await api.get<ClientResource>(`/clients/${encodeURIComponent(parameter("id"))}`);
    const { client_id: clientId, redirect_uris: redirectUris = [], scope = "" } = client;
    const challenge = encodeBase64Url(await sha256(randomBase64Url(32)));
    const linkTo = (redirectUri: string, prompt?: string) =>
      `${context.settings.issuer}/authorize?${new URLSearchParams({
        client_id: clientId,
        response_type: "code",
        redirect_uri: redirectUri,
        ...(scope === "" ? {} : { scope }),
        state: "test-sign-in",
        nonce: randomBase64Url(16),
        code_challenge: challenge,
        code_challenge_method: "S256",
        ...(prompt === undefined ? {} : { prompt }),
      })}`;
    const signsPeopleIn = client.grant_types?.includes("authorization_code") === true;
    const children = (
      <>
        <RecordHead kind={t("client.testTitle")} name={client.client_name ?? clientId} />
        {signsPeopleIn && redirectUris.length > 0 ? (
          <>
            <p>{t("client.testText")}</p>
            {redirectUris.slice(0, fitting(redirectUris)).map((uri) => (
              <section>
                <p class="muted">{t("client.testTo", { uri: clip(uri, 400) })}</p>
                <Actions
                  actions={[
                    { href: linkTo(uri), text: t("client.testSignIn") },
                    { href: linkTo(uri, "consent"), text: t("client.previewConsent") },
                  ]}
                />
              </section>
            ))}
          </>
        ) : (
          <p>{t("client.testNone")}</p>
        )}
        <Actions actions={[{ href: recordPath("/console/clients", clientId), text: t("client.back") }]} />
      </>
    );
    return { title: t("client.testTitle"), children };
  },
});
