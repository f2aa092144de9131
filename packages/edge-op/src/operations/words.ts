import type { Operation } from "./api-document.ts";

/** The text of an operation, where that of the OpenAPI document is not the best. */
interface Wording {
  readonly words?: readonly string[];
  /** The members of a list that its table shows. */
  readonly columns?: readonly string[];
  /** The words after those of the command, in examples. */
  readonly examples?: readonly string[];
}

/** By `operationId`. An operation without a row gets its words from its path, columns from its schema, and an example from both. */
const wordings: Readonly<Record<string, Wording>> = {
  listClients: { columns: ["client_id", "client_name", "status", "token_endpoint_auth_method", "scope"] },
  createClient: {
    examples: [
      '--client-name "Notes" --redirect-uris https://notes.example.com/callback --scope "openid email"',
      "--file client.yaml --status disabled",
    ],
  },
  updateClient: { examples: ["notes --status disabled", "notes --unset logo_uri --access-token-lifetime 600"] },
  rotateClientSecret: { words: ["clients", "secrets", "rotate"], examples: ["notes --overlap-seconds 3600"] },
  listResources: { columns: ["resource_id", "identifier", "name", "clients"] },
  createResource: { examples: ['--identifier https://api.example.com/ --name "Notes API" --clients any'] },
  updateResource: { examples: ['notes-api --scopes \'[{"value":"notes:read","description":"Read your notes"}]\''] },
  listIssuers: { columns: ["issuer_id", "issuer", "status"] },
  createIssuer: { examples: ["--file issuer.yaml"] },
  testIssuer: { examples: ["ci --token @token.txt", 'ci --claims \'{"sub":"repo:acme/app:ref:refs/heads/main"}\''] },
  listUsers: { columns: ["sub", "username", "status", "roles", "groups"] },
  createUser: { examples: ['--username alice --roles editor --claims \'{"email":"alice@example.com"}\''] },
  updateUser: { examples: ["alice --status suspended", "alice --roles editor --roles viewer"] },
  listFactors: { words: ["users", "factors", "list"] },
  removeFactor: { words: ["users", "factors", "delete"] },
  mailResetLink: { words: ["users", "mail-reset-link"] },
  setTemporaryPassword: { words: ["users", "temporary-password"] },
  resendInvitation: { words: ["invitations", "resend"] },
  listIdentities: { words: ["users", "identities", "list"] },
  removeIdentity: { words: ["users", "identities", "delete"] },
  listAttributes: { columns: ["attribute", "type", "title", "claim"] },
  createAttribute: { examples: ['--attribute desk --type string --title "Desk"', "--file attribute.yaml"] },
  updateAttribute: { examples: ['desk --title "Place of work"', "desk --unset claim"] },
  replaceRole: { examples: ["editor --permissions documents:read --permissions documents:write"] },
  createOrganization: { examples: ["--org-id acme --name Acme"] },
  replaceMember: { words: ["organizations", "members", "set"], examples: ["acme ann --roles billing"] },
  inviteMember: {
    words: ["organizations", "invitations", "create"],
    examples: ["acme --email ann@acme.example --roles owner"],
  },
  listMemberInvitations: { words: ["organizations", "invitations", "list"] },
  withdrawMemberInvitation: { words: ["organizations", "invitations", "delete"] },
  claimDomain: { words: ["organizations", "domains", "claim"], examples: ["acme acme.example"] },
  checkDomain: { words: ["organizations", "domains", "check"] },
  decideDomain: { words: ["organizations", "domains", "decide"] },
  createScimToken: { examples: ["acme --name Entra"] },
  replaceScimGroup: {
    words: ["organizations", "scim-groups", "set"],
    examples: ["acme 0mhqk2x9cJq3pV8sT1bRzYw4n --roles billing"],
  },
  replaceOrganizationRole: { examples: ["billing --permissions invoices:read"] },
  replaceGroup: { examples: ["staff --roles editor"] },
  replaceDocumentHost: { examples: ["agents.example.com --policy ask"] },
  listKeys: { columns: ["kid", "alg", "state", "sign_from", "sign_until", "retire_at"] },
  rotateKey: { examples: ["--alg ES256"] },
  revoke: {
    words: ["tokens", "revoke"],
    examples: ["--token @token.txt", "--sub alice", "--client-id notes", "--grant-id g1:weur:3:V1StGXR8_Z5jdHi6"],
  },
  revokeEverything: { words: ["tokens", "revoke-everything"], examples: ["--confirm https://op.example.com"] },
  eraseUser: { words: ["users", "erase"], examples: ["alice --confirm alice"] },
  listGenerations: { words: ["shards", "list"] },
  openGeneration: { words: ["shards", "open"], examples: ["--store refresh --shards 16"] },
  listShardLeases: { words: ["shards", "leases"] },
  reportDeployment: { words: ["deployment", "show"] },
  sealAgain: { words: ["deployment", "seal-again"] },
  backUp: { words: ["deployment", "back-up"] },
  listHeldRecords: { columns: ["kind", "id", "lost", "held_at"] },
  decideHeldRecords: {
    words: ["held-records", "decide"],
    examples: ['--decision restore --records \'[{"kind":"user","id":"alice"}]\'', "--decision refuse"],
  },
  listAuditEvents: {
    words: ["audit", "search"],
    columns: ["time", "type", "sub", "client_id", "actor", "address", "detail"],
    examples: [
      "--sub alice --type 'sign-in.*'",
      "--client-id notes --type 'client.*' --from 2026-11-01T00:00:00Z --all",
    ],
  },
  listRefusals: {
    columns: ["time", "client_id", "endpoint", "reason", "request_id"],
    examples: ["--client-id notes", "--request-id 01JD2K7Q9XW3"],
  },
  listAuditGaps: { words: ["audit", "gaps"], columns: ["shard", "from_seq", "to_seq", "recorded"] },
};

/** Operations whose command is written by hand, because it needs more than one request. */
const byHand: readonly string[] = ["verifyAuditLog", "importUsers", "exportUsers", "updateUsers"];

export function isByHand(operationId: string): boolean {
  return byHand.includes(operationId);
}

export function wordingOf({ operationId }: Pick<Operation, "operationId">): Wording {
  return Object.hasOwn(wordings, operationId) ? wordings[operationId]! : {};
}

/** The operations that have a wording: a test compares them with the document. */
export const wordedOperations: readonly string[] = [...Object.keys(wordings), ...byHand];

const verbs: Readonly<Record<string, string>> = { read: "show", replace: "set" };

/**
 * The words of an operation's command: the nouns of its path, and the first word of its `operationId` as the verb. `GET /users/{sub}/factors` with
 * `listFactors` is `users factors list`; a deletion of a whole collection has `-all`.
 */
export function wordsOf(method: string, path: string, operation: Pick<Operation, "operationId">): readonly string[] {
  const { words } = wordingOf(operation);
  if (words !== undefined) return words;
  const nouns = path.split("/").filter((segment) => segment !== "" && !segment.startsWith("{"));
  const [first = ""] = operation.operationId.split(/(?=[A-Z])/);
  const verb = `${verbs[first] ?? first}${isOfCollection(method, path) ? "-all" : ""}`;
  // `POST /issuers/{issuer_id}/test` names its verb.
  return nouns.at(-1) === verb ? nouns : [...nouns, verb];
}

/** Whether an operation deletes every resource of a collection, as many as one request can. */
export function isOfCollection(method: string, path: string): boolean {
  return method === "DELETE" && !path.endsWith("}");
}
