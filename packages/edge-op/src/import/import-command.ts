import type { Command } from "../console/command.ts";
import { importClients } from "./import-clients.ts";
import { importUsers } from "./import-users.ts";
import { userReaders } from "./read-users.ts";
import { reportOption } from "./report.ts";

const pathArgument = { name: "path", description: "A file, or a folder of files. They may be compressed with gzip." };

/** **`edge-op import`**: users and clients from files of other products. */
export const importCommands: readonly Command[] = [
  {
    words: ["import", "users"],
    summary: "Imports users with their credentials from files. The exit code is 1 if a record was refused.",
    arguments: [pathArgument],
    options: [
      {
        name: "from",
        kind: "text",
        choices: Object.keys(userReaders),
        description: "The product that the files are of; by default jsonl, as edge-op export users writes it.",
      },
      {
        name: "beside",
        kind: "text",
        description: "A second file: Auth0's file of password hashes, or the hash parameters of a Firebase project.",
      },
      {
        name: "upstreams",
        kind: "list",
        description: "An upstream provider of this deployment for a name in the files: google.com=google.",
      },
      { name: "with-roles", kind: "flag", description: "Keycloak: import realm roles and groups too." },
      {
        name: "without-unusable-hashes",
        kind: "flag",
        description: "Import users whose password hash cannot be used without it: they set a new password.",
      },
      { name: "dry-run", kind: "flag", description: "Only report what would happen." },
      { name: "skip", kind: "number", description: "Records at the beginning that an earlier run has done." },
      { name: "parallel", kind: "number", description: "Requests at the same time, 1 to 16; by default 4." },
      reportOption,
    ],
    examples: [
      "edge-op import users users.jsonl",
      "edge-op import users realm-users/ --from keycloak --upstreams google=google --report refused.jsonl --dry-run",
      "edge-op import users users.json --from firebase --beside hash-config.txt --upstreams google.com=google",
    ],
    notes: [
      "Scope: admin:users, and each admin scope that an imported role gives. Requests: POST /admin/import/users.",
      "A record that cannot be read or accepted is refused with its line, and all others arrive. A user who is there already stays: the same command continues an import that was interrupted.",
    ],
    run: importUsers,
  },
  {
    words: ["import", "clients"],
    summary: "Imports clients with their ids and secrets from files. The exit code is 1 if one was refused.",
    arguments: [pathArgument],
    options: [
      {
        name: "from",
        kind: "text",
        choices: ["jsonl", "keycloak"],
        description: "The product that the files are of; by default jsonl, with a body of clients create in each line.",
      },
      { name: "dry-run", kind: "flag", description: "Only print the clients, without their secrets." },
      reportOption,
    ],
    examples: ["edge-op import clients clients.jsonl", "edge-op import clients realm.json --from keycloak"],
    notes: ["Scope: admin:clients. Requests: POST /admin/clients. A client that is there already stays."],
    run: importClients,
  },
];
