/**
 * **One of several processes of an agent**, on the official SDK 2.x. They share a file with the refresh token. `HOLDS=file`: the process reads the
 * file whenever it needs a token; `HOLDS=memory`: it reads the file at its start, and later only writes it. `EARLY` seconds before its own clock says
 * that the access token expires, it refreshes by itself.
 */

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { UnauthorizedError } from "@modelcontextprotocol/client";
import {
  ClientAuthorization,
  type SavedAuthorization,
} from "../../../../examples/mcp-client/src/client-authorization.ts";
import { McpSession } from "../../../../examples/mcp-client/src/mcp-session.ts";

const { TOKENS_FILE = "", MCP_SERVER = "", ISSUER = "", HOLDS, EARLY, PERSON, CLIENT_SECRET } = process.env;
const startedAtMs = Date.now();
let aheadMs = 0;
Date.now = () => startedAtMs + performance.now() + aheadMs;

interface Shared {
  readonly saved: SavedAuthorization;
  readonly expiresAtMs: number;
}

let shared: Shared | undefined;
const store = {
  load(): SavedAuthorization {
    if (shared === undefined || HOLDS === "file") {
      const isThere = existsSync(TOKENS_FILE);
      shared = isThere ? (JSON.parse(readFileSync(TOKENS_FILE, "utf8")) as Shared) : { saved: {}, expiresAtMs: 0 };
    }
    return shared.saved;
  },
  save(saved: SavedAuthorization): void {
    const isNew = saved.tokens?.access_token !== shared?.saved.tokens?.access_token;
    const expiresAtMs = isNew ? Date.now() + (saved.tokens?.expires_in ?? 0) * 1000 : (shared?.expiresAtMs ?? 0);
    shared = { saved, expiresAtMs };
    // In one step: other processes read it meanwhile.
    writeFileSync(`${TOKENS_FILE}.${process.pid}`, JSON.stringify(shared));
    renameSync(`${TOKENS_FILE}.${process.pid}`, TOKENS_FILE);
  },
};
/** With a secret, if the agent has one. */
class AgentAuthorization extends ClientAuthorization {
  override clientInformation() {
    const known = super.clientInformation();
    return known === undefined || CLIENT_SECRET === undefined ? known : { ...known, client_secret: CLIENT_SECRET };
  }
}

const authorization = new AgentAuthorization(store, {
  redirectUrl: "http://127.0.0.1:50125/callback",
  clientId: "agent",
  issuer: ISSUER,
});
const session = new McpSession({
  server: MCP_SERVER,
  authorization,
  // A browser that opens is the end of the experiment, after the first time.
  signIn: async (url) => {
    if (PERSON === undefined) throw new UnauthorizedError("the user must sign in again");
    const response = await fetch(PERSON, { method: "POST", body: url.href });
    return new URLSearchParams(await response.text());
  },
});

for await (const line of createInterface(process.stdin)) {
  const { nowMs } = JSON.parse(line) as { readonly nowMs: number };
  aheadMs = nowMs - (startedAtMs + performance.now());
  let said: object;
  try {
    store.load();
    if (
      EARLY !== undefined &&
      shared!.saved.tokens !== undefined &&
      Date.now() > shared!.expiresAtMs - Number(EARLY) * 1000
    ) {
      await session.refresh();
    }
    said = { text: await session.callTool("whoami"), expiresAtMs: shared!.expiresAtMs };
  } catch (error) {
    said = { error: String(error) };
  }
  console.log(JSON.stringify(said));
}
