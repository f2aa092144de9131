import { Connection } from "../connection/connection.ts";
import { ContextStore } from "../connection/contexts.ts";
import { type Call, type Command, type Option, textOption } from "../console/command.ts";
import { Failure } from "../console/failure.ts";
import { type Finding, printFindings } from "../console/findings.ts";
import { readDocument } from "../console/read-document.ts";
import { checkConfiguration } from "../doctor/check-configuration.ts";
import { checkProvider } from "../doctor/check-provider.ts";
import { checkAuthentication, checkAuthorization, checkLogout, type Registration } from "../doctor/check-requests.ts";
import { fromAuthorizationUrl, fromDocument, members, type RelyingParty } from "../doctor/relying-party.ts";

const descriptions: Readonly<Record<(typeof members)[number], string>> = {
  client_id: "The client.",
  client_secret: "Its secret.",
  token_endpoint_auth_method: "How the library authenticates the client.",
  redirect_uri: "Where the browser comes back.",
  post_logout_redirect_uri: "Where the browser goes after a logout.",
  response_type: "By default code.",
  scope: "The scope that the library requests.",
  resource: "The API that it requests tokens for.",
  code_challenge: "That of an authorization request; absent: without PKCE.",
  code_challenge_method: "That of an authorization request.",
  nonce: "That of an authorization request.",
  id_token_signed_response_alg: "The signature of ID tokens that the library accepts.",
  audience: "The aud that the API requires.",
  access_token: "An access token that the API refused.",
};

const options: readonly Option[] = [
  {
    name: "request",
    kind: "text",
    description: "The URL of an authorization request, from the address bar: its parameters are examined.",
  },
  { name: "config", kind: "text", description: "A file with these options as members (client_id, …) and jwks." },
  { name: "jwks", kind: "json", description: "The provider's keys as the library has stored them." },
  ...members.map(
    (member): Option => ({
      name: member.replaceAll("_", "-"),
      kind: member === "client_secret" || member === "access_token" ? "secret" : "text",
      description: descriptions[member],
    }),
  ),
];

/** **`edge-op doctor`**: finds the mistakes of a relying party by asking the provider as that party asks it. Needs no sign-in. */
export const doctorCommand: Command = {
  words: ["doctor"],
  summary: "Finds mistakes in the configuration of a relying party. The exit code is 1 if there is one.",
  arguments: [{ name: "url", description: "The issuer, as the relying party has it." }],
  options,
  examples: [
    "edge-op doctor https://op.example.com",
    "edge-op doctor https://op.example.com --request 'https://op.example.com/authorize?client_id=notes&redirect_uri=…'",
    "edge-op doctor https://op.example.com --client-id notes --client-secret @secret.txt --redirect-uri https://notes.example.com/callback --scope openid",
  ],
  notes: [
    "It examines what it is given: address, metadata, issuer, clock, keys; then client, redirect URI, PKCE, response type, scope, audience, algorithm, client authentication and post-logout URI. Nobody is signed in and nothing is changed. Run it on the machine of the relying party, for its clock and network.",
    "With a context of the same deployment and the scope admin:clients, it compares the registration too.",
  ],
  async run(call) {
    const party = readParty(call);
    const { findings, metadata } = await checkProvider(party, Date.now());
    if (metadata === undefined) return printFindings(call, findings);
    const registered = await readRegistration(call, metadata.issuer, party.client_id);
    const requests: Finding[][] = [];
    for (const check of [checkAuthorization, checkAuthentication, checkLogout]) {
      requests.push(await check(party, metadata, registered));
    }
    return printFindings(call, [...findings, ...checkConfiguration(party, metadata, registered), ...requests.flat()]);
  },
};

function readParty(call: Call): RelyingParty {
  const config = textOption(call, "config");
  const request = textOption(call, "request");
  const given = members.flatMap((member): [string, unknown][] => {
    const value = call.options[member.replaceAll("_", "-")];
    return value === undefined ? [] : [[member, value]];
  });
  const { jwks } = call.options;
  return {
    ...(config === undefined ? {} : fromDocument(readDocument(config))),
    ...(request === undefined ? {} : fromAuthorizationUrl(request)),
    ...Object.fromEntries(given),
    ...(jwks === undefined ? {} : { jwks: jwks as NonNullable<RelyingParty["jwks"]> }),
    issuer: call.arguments["url"]!,
  };
}

/** The registration, if a context of this deployment may read it. */
async function readRegistration(
  call: Call,
  issuer: string,
  clientId: string | undefined,
): Promise<Registration | undefined> {
  if (clientId === undefined) return undefined;
  try {
    const connection = new Connection(new ContextStore(call.terminal.environment), textOption(call, "context"));
    if (connection.issuer !== issuer) return undefined;
    return (await connection.find(`/clients/${encodeURIComponent(clientId)}`))?.body;
  } catch (error) {
    if (error instanceof Failure && textOption(call, "context") === undefined) return undefined;
    throw error;
  }
}
