import { X509Certificate } from "node:crypto";

/** The fault of the member `clientAuthority` of an environment's file, which must be a public certificate in PEM. */
export function wrongAuthority(pem: string): string | undefined {
  try {
    const certificate = new X509Certificate(pem);
    return certificate.ca ? undefined : "clientAuthority must be the certificate of an authority (CA:TRUE)";
  } catch (error) {
    return `clientAuthority must be a certificate in PEM: ${error instanceof Error ? error.message : String(error)}`;
  }
}
