export const clientsPath = "/console/clients";

/** The path of a client's page, and of a page below it. */
export function clientPath(clientId: string, below = ""): string {
  return `${clientsPath}/${encodeURIComponent(clientId)}${below}`;
}
