/** **What the demo registers at the provider**: clients, users, roles and resources, in the format of the admin API. */

const demoApi = "https://api.example.com";
const demoReports = "https://reports.example.com";
const grants = {
  tokenExchange: "urn:ietf:params:oauth:grant-type:token-exchange",
  jwtBearer: "urn:ietf:params:oauth:grant-type:jwt-bearer",
} as const;

/** The examples of resource servers, which the demo runs with the provider. */
export const demoApplications = {
  mcp: { config: "examples/mcp-server/wrangler.toml", entry: "examples/mcp-server/src/index.ts", path: "/mcp" },
  api: { config: "examples/api/wrangler.toml", entry: "examples/api/src/index.ts", path: "/" },
} as const;

/** By their URLs. */
export type DemoResources = Readonly<Record<keyof typeof demoApplications, string>>;

const userScopes = "openid profile email address phone roles groups";

/** `relyingParty` is the origin of the demo application. */
export function demoClients(relyingParty: string) {
  return {
    /** A service that calls the API for itself. */
    service: {
      metadata: {
        client_name: "Demo service",
        token_endpoint_auth_method: "client_secret_basic",
        grant_types: ["client_credentials"],
        scope: "api:read api:write",
        audiences: [demoApi],
      },
    },
    /** The API itself, which introspects the tokens it receives. */
    resource_server: {
      metadata: {
        client_name: "Demo API",
        token_endpoint_auth_method: "client_secret_basic",
        grant_types: ["client_credentials"],
        scope: "api:read",
        audiences: [demoApi],
        introspection: { clients: ["*"] },
      },
    },
    /** A backend that exchanges a user's token for one accepted by another service. */
    exchanger: {
      metadata: {
        client_name: "Demo gateway",
        token_endpoint_auth_method: "client_secret_basic",
        grant_types: ["client_credentials", grants.tokenExchange],
        scope: `${userScopes} api:read api:write reports:read`,
        audiences: [demoApi, demoReports],
        token_exchange: {
          subject_clients: ["*"],
          audiences: ["*"],
          resources: ["*"],
          scopes: ["*"],
          modes: ["delegation", "impersonation"],
        },
      },
    },
    /** A trusted service that acts for users without a browser (RFC 7523 §2.1). The private key is in `.op/dev.json`. */
    asserter: {
      hasKey: true,
      metadata: {
        client_name: "Demo batch service",
        token_endpoint_auth_method: "client_secret_basic",
        grant_types: ["client_credentials", grants.jwtBearer],
        scope: `${userScopes} api:read api:write reports:read`,
        audiences: [demoApi],
        jwt_bearer: { subjects: ["*"], scopes: ["*"] },
      },
    },
    /** An application with sign-in. */
    app: {
      metadata: {
        client_name: "Demo application",
        token_endpoint_auth_method: "client_secret_basic",
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        redirect_uris: [`${relyingParty}/callback`],
        post_logout_redirect_uris: [`${relyingParty}/`],
        backchannel_logout_uri: `${relyingParty}/backchannel-logout`,
        backchannel_logout_session_required: true,
        scope: `${userScopes} offline_access api:read`,
        audiences: [demoApi],
      },
    },
    /** An MCP client on the command line: a native application, which has no secret. */
    mcp_client: {
      metadata: {
        client_name: "Notes on the command line",
        application_type: "native",
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        redirect_uris: ["http://127.0.0.1/callback"],
        scope: "offline_access",
      },
    },
  } as const;
}

/** Any client may request their tokens: the people who use it consent to the scopes, with these descriptions. */
export const demoResource = {
  clients: "any",
  scopes: [
    { value: "notes:read", description: "Read your notes", default: true },
    { value: "notes:write", description: "Write notes for you" },
  ],
} as const;

export type DemoClientName = keyof ReturnType<typeof demoClients>;

/** The permissions of the demo users' roles. */
export const demoRoles = {
  editor: ["documents:read", "documents:write"],
  viewer: ["documents:read"],
} as const;

export const demoUsers = {
  alice: {
    username: "alice",
    password: "correct horse battery staple",
    roles: ["editor"],
    groups: ["staff"],
    claims: {
      name: "Alice Adams",
      given_name: "Alice",
      family_name: "Adams",
      middle_name: "Maria",
      nickname: "Ali",
      preferred_username: "alice",
      profile: "https://people.example.com/alice",
      picture: "https://people.example.com/alice.png",
      website: "https://alice.example.com",
      email: "alice@example.com",
      email_verified: true,
      gender: "female",
      birthdate: "1990-04-01",
      zoneinfo: "Europe/Paris",
      locale: "en-GB",
      phone_number: "+33 1 23 45 67 89",
      phone_number_verified: true,
      address: {
        formatted: "1 Rue de Rivoli\n75001 Paris\nFrance",
        street_address: "1 Rue de Rivoli",
        locality: "Paris",
        region: "Île-de-France",
        postal_code: "75001",
        country: "France",
      },
    },
  },
  bob: {
    username: "bob",
    password: "an unlikely string of words",
    roles: ["viewer"],
    groups: ["customers"],
    claims: {
      name: "Bob Brown",
      given_name: "Bob",
      family_name: "Brown",
      preferred_username: "bob",
      email: "bob@example.com",
      email_verified: false,
      locale: "en-US",
    },
  },
} as const;
