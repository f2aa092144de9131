import { X509Certificate } from "node:crypto";

/** What is wrong with the member `clientAuthority` of an environment's file: it is public, and in PEM. */
export function wrongAuthority(pem: string): string | undefined {
  try {
    const certificate = new X509Certificate(pem);
    return certificate.ca ? undefined : "clientAuthority must be the certificate of an authority (CA:TRUE)";
  } catch (error) {
    return `clientAuthority must be a certificate in PEM: ${error instanceof Error ? error.message : String(error)}`;
  }
}
