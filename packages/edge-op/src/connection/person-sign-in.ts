/** **Sign-in of a person**: in the browser of this machine, or on another device. Neither needs a secret. */

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import * as oidc from "openid-client";
import { Failure } from "../console/failure.ts";
import { printable } from "../console/show.ts";
import type { Terminal } from "../console/terminal.ts";
import { type Authorized, adminUrl, asFailure, authorized, discover } from "./authorize.ts";
import type { Context } from "./contexts.ts";

/** A person signs in within this time. */
const signInMs = 5 * 60_000;

type PublicClient = Pick<Context, "issuer" | "client_id">;

/**
 * The code flow with PKCE and a redirect to a port of the loopback interface that is free at that moment.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8252#section-7.3
 */
export async function signInByBrowser(terminal: Terminal, client: PublicClient, scope: string): Promise<Authorized> {
  const config = await discover(client);
  const verifier = oidc.randomPKCECodeVerifier();
  const state = oidc.randomState();
  const server = createServer();
  try {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
    const challenge = await oidc.calculatePKCECodeChallenge(verifier);
    requireWebPage(config.serverMetadata().authorization_endpoint);
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope,
      state,
      resource: adminUrl(client.issuer),
      code_challenge: challenge,
      code_challenge_method: "S256",
    }).href;
    terminal.note(`Sign in with the browser. If it does not open, visit:\n${printable(url)}\n`);
    const arrival = awaitCallback(server, redirectUri, state);
    terminal.openBrowser(url);
    const callback = await arrival;
    return await asFailure(async () =>
      authorized(
        await oidc.authorizationCodeGrant(config, callback, { pkceCodeVerifier: verifier, expectedState: state }),
      ),
    );
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** A page that a browser opens: another scheme would start another program. */
function requireWebPage(url = ""): string {
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return url;
  throw new Failure("unavailable", `The provider names no page to sign in at: "${url}".`);
}

/** The first request with our `state`. Others, such as that of another site's page, do not end the wait. */
async function awaitCallback(server: Server, redirectUri: string, state: string): Promise<URL> {
  return new Promise((resolve, reject) => {
    const ended = setTimeout(
      () => reject(new Failure("notSignedIn", "Nobody signed in within five minutes.")),
      signInMs,
    );
    server.on("request", (request, response) => {
      const url = new URL(request.url ?? "/", redirectUri);
      const isOurs =
        request.method === "GET" && url.pathname === "/callback" && url.searchParams.get("state") === state;
      response.writeHead(isOurs ? 200 : 404, {
        "content-type": "text/plain; charset=utf-8",
        "cache-control": "no-store",
      });
      response.end(isOurs ? "This window can be closed. Continue in the terminal.\n" : "Not found.\n", () => {
        if (!isOurs) return;
        clearTimeout(ended);
        resolve(url);
      });
    });
  });
}

/** @see https://www.rfc-editor.org/rfc/rfc8628 */
export async function signInByDevice(terminal: Terminal, client: PublicClient, scope: string): Promise<Authorized> {
  const config = await discover(client);
  return asFailure(async () => {
    const started = await oidc.initiateDeviceAuthorization(config, { scope, resource: adminUrl(client.issuer) });
    const page = requireWebPage(started.verification_uri);
    terminal.note(`Visit ${printable(page)} on any device and enter the code ${printable(started.user_code)}\n`);
    if (started.verification_uri_complete !== undefined)
      terminal.note(`or visit ${printable(requireWebPage(started.verification_uri_complete))}\n`);
    const signal = AbortSignal.timeout(started.expires_in * 1000);
    return authorized(await oidc.pollDeviceAuthorizationGrant(config, started, {}, { signal }));
  });
}
