/**
 * **A TLS proxy in front of `npm start`**, for tests that need https: `node scripts/demo/tls-proxy.mjs <certificate> <key> <port> <provider's port>
 * [<authority of clients> <file of the proxy's key>]`. It forwards requests unchanged; the provider's issuer depends only on `ISSUER`. With an
 * authority, it requests a certificate from clients and forwards it (docs/operating/mutual-tls.md). It listens only on loopback, because the provider
 * behind it has a well-known password.
 */

import { readFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:https";

const [certificate, key, port, providerPort, authority, proxyKey] = process.argv.slice(2);

/** TLS 1.3, and the TLS 1.2 ciphers that BCP 195 recommends, as FAPI 2.0 §5.2.2 requires. @see https://www.rfc-editor.org/rfc/rfc9325#section-4.2 */
const ciphers = [
  ...["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"],
  ...["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384"],
  ...["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"],
].join(":");
const own = { ciphers, minVersion: "TLSv1.2", cert: readFileSync(certificate), key: readFileSync(key) };
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

/** Replaces the headers that the client sent. */
function certificateHeaders(socket) {
  const presented = socket.getPeerX509Certificate();
  return {
    "client-cert-proxy-key": readFileSync(proxyKey, "utf8").trim(),
    "client-cert": presented === undefined ? "" : `:${presented.raw.toString("base64")}:`,
    "client-cert-verified": socket.authorized ? "SUCCESS" : "NONE",
  };
}

server.listen(Number(port), "127.0.0.1");
