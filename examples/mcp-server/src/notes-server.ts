import { type McpRequestContext, McpServer, requireScopes } from "@modelcontextprotocol/server";
import * as z from "zod";

/** The notes of each user, in the memory of the isolate: an example, not a store. */
const notesOfUsers = new Map<string, string[]>();
const mostUsers = 1_000;
const mostNotes = 100;

/** **The tools of one request.** Reading needs `notes:read`, like every request; writing needs `notes:write` in addition. */
export function createNotesServer({ authInfo }: McpRequestContext): McpServer {
  const server = new McpServer({ name: "notes", version: "1.0.0" });
  const userId = String(authInfo?.extra?.["userId"]);
  const notes = notesOfUsers.get(userId) ?? [];

  server.registerTool("whoami", { description: "The user and the client of the access token." }, () =>
    text(`${userId}, by ${authInfo?.clientId}, with ${authInfo?.scopes.join(" ")}`),
  );
  server.registerTool("list_notes", { description: "Your notes." }, () => text(notes.join("\n")));
  server.registerTool(
    "add_note",
    {
      description: "Adds a note.",
      inputSchema: z.object({ text: z.string().min(1).max(1_000) }),
      // All scopes of the operation, so that the client requests them in one step.
      scopeChallenge: requireScopes("notes:read", "notes:write"),
    },
    (note) => {
      if (notes.length >= mostNotes || (notesOfUsers.size >= mostUsers && !notesOfUsers.has(userId))) {
        return { ...text("There is no room for more notes."), isError: true };
      }
      notesOfUsers.set(userId, [...notes, note.text]);
      return text(`${notes.length + 1} notes`);
    },
  );
  return server;
}

function text(value: string) {
  return { content: [{ type: "text" as const, text: value }] };
}
