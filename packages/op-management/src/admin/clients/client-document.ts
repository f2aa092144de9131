import type { FieldError } from "@edge-op/shared/oauth/errors";
import type { JsonObject } from "../merge-patch.ts";
import { invalidFields, requireValid } from "../require-valid.ts";
import { withDefaults } from "./client-defaults.ts";
import { clientErrorCode, clientFaults } from "./client-rules.ts";
import { type ClientDocument, metadataSchema } from "./client-schema.ts";

/** **A client document that may be stored**: defaults filled in, every rule held to, or a refusal that names each fault. */
export async function requireDocument(document: JsonObject): Promise<ClientDocument> {
  const metadata = requireValid(metadataSchema, withDefaults(document), clientErrorCode);
  const faults = [...clientFaults(metadata), ...(await keyFaults(metadata.jwks))];
  if (faults.length > 0) throw invalidFields(faults, clientErrorCode);
  return metadata;
}

type Jwks = NonNullable<ClientDocument["jwks"]>;

/** The keys that are no keys: a modulus or a point that the platform does not import would fail at every assertion. */
async function keyFaults(jwks: Jwks | undefined): Promise<FieldError[]> {
  const faults = await Promise.all(
    (jwks?.keys ?? []).map(async (key, index) =>
      (await isImportable(key)) ? [] : [{ path: `jwks.keys[${index}]`, message: "is not a valid key" }],
    ),
  );
  return faults.flat();
}

async function isImportable(key: Jwks["keys"][number]): Promise<boolean> {
  try {
    await importPublicKey(key);
    return true;
  } catch (cause) {
    console.info(JSON.stringify({ event: "client-key-refused", cause: String(cause) }));
    return false;
  }
}

/** Only what makes the key: the platform refuses a `use` or `key_ops` that is not its own. */
function importPublicKey(key: Jwks["keys"][number]): Promise<CryptoKey> {
  switch (key.kty) {
    case "RSA": {
      const { kty, n, e } = key;
      const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
      return crypto.subtle.importKey("jwk", { kty, n, e }, algorithm, false, ["verify"]);
    }
    case "EC": {
      const { kty, crv, x, y } = key;
      return crypto.subtle.importKey("jwk", { kty, crv, x, y }, { name: "ECDSA", namedCurve: crv }, false, ["verify"]);
    }
    case "OKP": {
      const { kty, crv, x } = key;
      return crypto.subtle.importKey("jwk", { kty, crv, x }, { name: crv }, false, crv === "Ed25519" ? ["verify"] : []);
    }
  }
}
