import {
  type CertificateNames,
  canonicalAddress,
  readCertificateNames,
} from "@edge-op/protocol/mtls/certificate-names";
import { readClientCertificate } from "@edge-op/protocol/mtls/client-certificate";
import { isSameName, parseDistinguishedName } from "@edge-op/protocol/mtls/distinguished-name";
import type { Client, ClientMetadata } from "../clients/client.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { ClientAuthBindings, ClientAuthIsolate } from "./endpoint-isolate.ts";
import { invalidClient } from "./presented-credentials.ts";

/**
 * **Authenticates a client by its certificate** (RFC 8705 §2). `tls_client_auth`: a certificate of a trusted CA whose subject or
 * alternative name is the registered one. `self_signed_tls_client_auth`: the certificate itself is registered, in `x5c` of its key set.
 * Cost: 0 calls; 1 fetch if the keys of a `jwks_uri` are not cached.
 */
export async function requireCertificate(
  context: RequestContext<ClientAuthBindings>,
  isolate: ClientAuthIsolate,
  request: Pick<Request, "headers">,
  client: Client,
): Promise<Client> {
  const certificate = await readClientCertificate(context, request);
  if (certificate === undefined) throw invalidClient("certificate-missing", false);
  const names = certificate.der && readCertificateNames(certificate.der);
  if (names === undefined) throw invalidClient("certificate-malformed", false);
  // No chain is verified for a self-signed certificate, so its validity is not either.
  if (names.notBeforeMs > context.arrivedAtMs || names.notAfterMs < context.arrivedAtMs) {
    throw invalidClient("certificate-out-of-time", false);
  }
  if (client.metadata.token_endpoint_auth_method === "self_signed_tls_client_auth") {
    const isRegistered = await isolate.clientKeys.hasCertificate(context, client, certificate.thumbprint);
    if (isRegistered) return client;
    const refusal = isolate.clientKeys.explain(context, client, "certificate-not-registered");
    throw invalidClient(refusal.reason, false, refusal);
  }
  if (!certificate.isVerified) throw invalidClient("certificate-not-verified", false);
  if (!isRegisteredName(client.metadata, names)) {
    throw invalidClient("certificate-name-differs", false);
  }
  return client;
}

/** At most one of these members is registered. */
function isRegisteredName(metadata: ClientMetadata, { subject, dns, uri, ip, email }: CertificateNames): boolean {
  const {
    tls_client_auth_subject_dn: subjectName,
    tls_client_auth_san_dns: host,
    tls_client_auth_san_uri: registeredUri,
    tls_client_auth_san_ip: address,
    tls_client_auth_san_email: mailbox,
  } = metadata;
  if (subjectName !== undefined) {
    const registered = parseDistinguishedName(subjectName);
    return registered !== undefined && subject !== undefined && isSameName(registered, subject);
  }
  if (host !== undefined) return dns.some((name) => name.toLowerCase() === host.toLowerCase());
  if (registeredUri !== undefined) return uri.includes(registeredUri);
  if (address !== undefined) return ip.some((name) => name === canonicalAddress(address));
  return mailbox !== undefined && email.some((name) => lowerHost(name) === lowerHost(mailbox));
}

/** The domain of an address is case-insensitive; its local part is case-sensitive (RFC 5280 §7.5). */
function lowerHost(mailbox: string): string {
  const at = mailbox.lastIndexOf("@") + 1;
  return mailbox.slice(0, at) + mailbox.slice(at).toLowerCase();
}
