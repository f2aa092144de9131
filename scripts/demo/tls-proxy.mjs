/**
 * **A TLS proxy in front of `npm start`**, for tests that need https: `node scripts/demo/tls-proxy.mjs <certificate> <key> <port> <provider's
 * port>`. It forwards requests unchanged; the provider's issuer depends only on `ISSUER`.
 */
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:https";

const [certificate, key, port, providerPort] = process.argv.slice(2);

const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, (incoming, outgoing) => {
  const { method, url: path, headers } = incoming;
  const forwarded = request({ host: "127.0.0.1", port: Number(providerPort), method, path, headers }, (response) => {
    outgoing.writeHead(response.statusCode, response.headers);
    response.pipe(outgoing);
  });
  forwarded.on("error", () => {
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(502).end();
  });
  incoming.pipe(forwarded);
});
server.listen(Number(port), "0.0.0.0");
