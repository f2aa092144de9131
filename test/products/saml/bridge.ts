import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** The parts of the packages that are used; they are installed when the product runs. */
interface Jackson {
  readonly connectionAPIController: {
    createSAMLConnection(connection: object): Promise<{ readonly clientID: string; readonly clientSecret: string }>;
  };
  readonly oauthController: {
    authorize(query: object): Promise<{ readonly redirect_url?: string }>;
    samlResponse(body: object): Promise<{ readonly redirect_url?: string }>;
    token(body: object, authorization: string | undefined): Promise<object>;
    userInfo(token: string): Promise<object>;
  };
  readonly oidcDiscoveryController: { openidConfig(): object; jwks(): Promise<object> };
  close(): Promise<void>;
}

interface Samlp {
  auth(options: object): (request: object, response: ServerResponse, next: (error?: Error) => void) => void;
}

/** A certificate and its key, PEM. */
interface Signer {
  readonly cert: string;
  readonly key: string;
}

/**
 * **SAML providers of two companies (samlp), and a bridge in front of them (saml-jackson)**, set up as docs/operating/saml.md says: a connection for
 * each company, signed assertions, persistent names, subjects that contain the company's name.
 */
export class Bridge {
  readonly issuer: string;
  /** The clients of the connections, by company. */
  readonly clients = new Map<string, { readonly client_id: string; readonly client_secret: string }>();
  /** Who signs for a company; a test replaces it. */
  readonly signers: Map<string, Signer>;
  readonly #jackson: Jackson;
  readonly #samlp: Samlp;
  readonly #server: ReturnType<typeof createServer>;

  private constructor(parts: {
    readonly issuer: string;
    readonly jackson: Jackson;
    readonly samlp: Samlp;
    readonly server: ReturnType<typeof createServer>;
    readonly signers: Map<string, Signer>;
  }) {
    this.issuer = parts.issuer;
    this.#jackson = parts.jackson;
    this.#samlp = parts.samlp;
    this.#server = parts.server;
    this.signers = parts.signers;
  }

  /** `folder`: where the packages are. `redirectUris`: of this provider, by company. */
  static async start(folder: string, redirectUris: Readonly<Record<string, string>>): Promise<Bridge> {
    const require = createRequire(join(folder, "package.json"));
    const { controllers } = require("@boxyhq/saml-jackson") as { controllers(options: object): Promise<Jackson> };
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const jackson = await controllers({
      ...{ externalUrl: issuer, samlPath: "/acs", samlAudience: "https://bridge.example", noAnalytics: true },
      ...{ db: { engine: "mem" }, clientSecretVerifier: "a-secret-of-the-bridge", idpEnabled: false },
      openid: {
        ...{ jwsAlg: "RS256", subjectPrefix: true, redirectExactMatch: true },
        jwtSigningKeys: {
          private: btoa(privateKey.export({ type: "pkcs8", format: "pem" }) as string),
          public: btoa(publicKey.export({ type: "spki", format: "pem" }) as string),
        },
      },
    });
    const signers = new Map(Object.keys(redirectUris).map((company) => [company, createSigner(folder, company)]));
    const bridge = new Bridge({ issuer, jackson, samlp: require("samlp") as Samlp, server, signers });
    for (const [tenant, redirectUri] of Object.entries(redirectUris)) {
      const { clientID, clientSecret } = await jackson.connectionAPIController.createSAMLConnection({
        ...{ tenant, product: "edge-op", defaultRedirectUrl: redirectUri, redirectUrl: JSON.stringify([redirectUri]) },
        encodedRawMetadata: btoa(bridge.#metadataOf(tenant)),
      });
      bridge.clients.set(tenant, { client_id: clientID, client_secret: clientSecret });
    }
    server.on("request", bridge.#listener());
    return bridge;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await this.#jackson.close();
  }

  #metadataOf(company: string): string {
    const certificate = this.signers.get(company)!.cert.replaceAll(/-----[^-]+-----|\s/g, "");
    return `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.${company}.example">
      <IDPSSODescriptor WantAuthnRequestsSigned="false" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
      <KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data>
      <X509Certificate>${certificate}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
      <SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${this.issuer}/idp/${company}"/>
      </IDPSSODescriptor></EntityDescriptor>`;
  }

  #listener(): RequestListener {
    return (request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.writeHead(403, { "content-type": "application/json" }).end(JSON.stringify({ error: String(error) }));
      });
    };
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.issuer);
    const { oauthController: oauth, oidcDiscoveryController: discovery } = this.#jackson;
    const query = Object.fromEntries(url.searchParams);
    const form = async () => Object.fromEntries(new URLSearchParams(await text(request)));
    const { authorization } = request.headers;
    const send = (body: object) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    const redirect = ({ redirect_url: location }: { readonly redirect_url?: string }) =>
      response.writeHead(302, { location }).end();
    if (url.pathname === "/.well-known/openid-configuration") send(discovery.openidConfig());
    else if (url.pathname === "/oauth/jwks") send(await discovery.jwks());
    else if (url.pathname === "/api/oauth/authorize") redirect(await oauth.authorize(query));
    else if (url.pathname === "/api/oauth/token") send(await oauth.token(await form(), authorization));
    else if (url.pathname === "/api/oauth/userinfo") send(await oauth.userInfo(authorization?.slice(7) ?? ""));
    else if (url.pathname === "/acs") redirect(await oauth.samlResponse(await form()));
    else this.#assert(url.pathname.slice("/idp/".length), Object.assign(request, { query, body: {} }), response);
  }

  /** The company's provider, at which Pat has signed in. */
  #assert(
    company: string,
    request: { readonly query: Readonly<Record<string, string>> },
    response: ServerResponse,
  ): void {
    const respond = this.#samlp.auth({
      ...{ ...this.signers.get(company), issuer: `https://idp.${company}.example`, signatureAlgorithm: "rsa-sha256" },
      nameIdentifierFormat: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
      getPostURL: (_: string, __: object, ___: object, done: (error: null, url: string) => void) =>
        done(null, `${this.issuer}/acs`),
      getUserFromRequest: () => ({
        ...{ id: "u-1", displayName: "Pat", name: { givenName: "Pat", familyName: "Person" } },
        emails: [{ value: `pat@${company}.example` }],
      }),
      responseHandler: (saml: Buffer) => {
        const body = { SAMLResponse: saml.toString("base64"), RelayState: request.query["RelayState"] };
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
      },
    });
    respond(request, response, (error) => response.writeHead(500).end(String(error)));
  }
}

export function createSigner(folder: string, name: string): Signer {
  const paths = { key: join(folder, `${name}.key`), cert: join(folder, `${name}.pem`) };
  const words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", `/CN=${name}`];
  execFileSync("openssl", [...words, "-keyout", paths.key, "-out", paths.cert], { stdio: "ignore" });
  return { key: readFileSync(paths.key, "utf8"), cert: readFileSync(paths.cert, "utf8") };
}
