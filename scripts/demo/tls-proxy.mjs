/**
 * **A TLS proxy in front of `npm start`**, for tests that need https: `node scripts/demo/tls-proxy.mjs <certificate> <key> <port> <provider's
 * port> [<authority of clients> <file of the proxy's key>]`. It forwards requests unchanged; the provider's issuer depends only on `ISSUER`.
 * With an authority it asks clients for a certificate, and passes it on (docs/operating/mutual-tls.md).
 */
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:https";

const [certificate, key, port, providerPort, authority, proxyKey] = process.argv.slice(2);

const own = { cert: readFileSync(certificate), key: readFileSync(key) };
const mutual =
  authority === undefined ? {} : { ca: readFileSync(authority), requestCert: true, rejectUnauthorized: false };

const server = createServer({ ...own, ...mutual }, (incoming, outgoing) => {
  const { method, url: path, socket } = incoming;
  const headers = proxyKey === undefined ? incoming.headers : { ...incoming.headers, ...certificateHeaders(socket) };
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

/** Replaces those that the client has sent. */
function certificateHeaders(socket) {
  const presented = socket.getPeerX509Certificate();
  return {
    "client-cert-proxy-key": readFileSync(proxyKey, "utf8").trim(),
    "client-cert": presented === undefined ? "" : `:${presented.raw.toString("base64")}:`,
    "client-cert-verified": socket.authorized ? "SUCCESS" : "NONE",
  };
}

server.listen(Number(port), "0.0.0.0");
