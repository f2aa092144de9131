import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** One call of an application's `backchannel_logout_uri`. */
export interface LogoutCall {
  readonly atMs: number;
  readonly method: string | undefined;
  readonly contentType: string | undefined;
  readonly form: URLSearchParams;
}

export interface LogoutReceiver {
  readonly uri: string;
  readonly calls: readonly LogoutCall[];
  stop(): Promise<void>;
}

/** **An application's end of Back-Channel Logout**: answers with `statuses` in turn, then with the last of them. */
export async function startLogoutReceiver(...statuses: readonly [number, ...number[]]): Promise<LogoutReceiver> {
  const calls: LogoutCall[] = [];
  const server = createServer((request, response) => {
    const answer = (body: string): void => {
      const status = statuses[Math.min(calls.length, statuses.length - 1)]!;
      const { method, headers } = request;
      calls.push({ atMs: Date.now(), method, contentType: headers["content-type"], form: new URLSearchParams(body) });
      response.writeHead(status, { "cache-control": "no-store" }).end();
    };
    text(request).then(answer, (error: Error) => response.destroy(error));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    uri: `http://127.0.0.1:${port}/backchannel-logout`,
    calls,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
