import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface DocumentServer {
  readonly url: string;
  stop(): void;
}

/**
 * **Serves a client metadata document at every path**, on loopback, for the scenario `documents`, for any number of clients. A provider elsewhere
 * needs such a server at a public https URL (`--documents`).
 */
export async function startDocumentServer(redirectUri: string): Promise<DocumentServer> {
  const server = createServer((request, response) => {
    const document = {
      client_id: `${url}${request.url ?? "/"}`,
      client_name: "Load test document",
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "none",
    };
    response.writeHead(200, { "content-type": "application/json", "cache-control": "max-age=3600" });
    response.end(JSON.stringify(document));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, stop };
}
