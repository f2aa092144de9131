import { createServer } from "node:http";
import type { SignIn } from "./mcp-session.ts";

/** The time limit for the user's sign-in. */
const patienceMs = 5 * 60_000;

/**
 * **Signs the user in with their browser** (RFC 8252): they open the URL, and the provider sends them back to a port of this computer, which is open
 * meanwhile.
 */
export function browserSignIn(port: number, announce: (url: URL) => void): SignIn {
  return (authorizationUrl) =>
    new Promise((resolve, reject) => {
      const server = createServer((request, response) => {
        const url = new URL(request.url ?? "/", `http://127.0.0.1:${port}`);
        if (url.pathname !== "/callback") {
          response.writeHead(404).end();
          return;
        }
        response.writeHead(200, { "Content-Type": "text/plain" }).end("You may close this page.");
        finish(() => resolve(url.searchParams));
      });
      const timer = setTimeout(() => finish(() => reject(new Error("nobody signed in"))), patienceMs);
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        server.close();
        server.closeAllConnections();
        settle();
      };
      server.once("error", (error) => finish(() => reject(error)));
      server.listen(port, "127.0.0.1", () => announce(authorizationUrl));
    });
}
