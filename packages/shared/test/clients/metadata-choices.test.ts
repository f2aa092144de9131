import type { OAuthError } from "@edge-op/protocol/oauth/errors";
import { exportJWK, generateKeyPair } from "jose";
import { describe, expect, it } from "vitest";
import { requireDocument } from "../../src/clients/checked-metadata.ts";

const settings = { issuer: "https://op.example.com", privateUseSchemes: [] };
const web = { redirect_uris: ["https://app.example/cb"] };
const choose = (document: Record<string, unknown>) => requireDocument({ ...web, ...document }, settings);

async function fault(document: Record<string, unknown>): Promise<string> {
  const error = (await choose(document).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )) as OAuthError | undefined;
  return error?.fields?.map(({ path, message }) => `${path}: ${message}`).join("; ") ?? "no fault";
}

describe("OpenID Connect RP Metadata Choices 1.0 §2", () => {
  it("one value of each list is chosen and registered; the list is not stored", async () => {
    const metadata = await choose({
      subject_types_supported: ["public", "pairwise"],
      id_token_signing_alg_values_supported: ["PS512", "EdDSA", "ES256"],
      userinfo_signing_alg_values_supported: ["RS256"],
    });
    expect(metadata).toMatchObject({
      subject_type: "public",
      id_token_signed_response_alg: "ES256",
      userinfo_signed_response_alg: "RS256",
    });
    expect(Object.keys(metadata).filter((name) => name.endsWith("_supported"))).toEqual([]);
  });

  it("for a FAPI client, an algorithm that its profile allows", async () => {
    const { publicKey } = await generateKeyPair("ES256");
    const fapi = {
      ...{ security_profile: "fapi2", token_endpoint_auth_method: "private_key_jwt" },
      jwks: { keys: [await exportJWK(publicKey)] },
    };
    const offered = { authorization_signing_alg_values_supported: ["RS256", "PS256"] };
    expect((await choose({ ...fapi, ...offered })).authorization_signed_response_alg).toBe("PS256");
    expect((await choose(offered)).authorization_signed_response_alg).toBe("RS256");
    expect(await fault({ ...fapi, id_token_signing_alg_values_supported: ["RS256"] })).toBe(
      "id_token_signing_alg_values_supported: has no value that this provider supports",
    );
  });

  it.each([
    [["client_secret_post", "client_secret_basic"], {}, "client_secret_basic"],
    [["private_key_jwt", "client_secret_post"], {}, "client_secret_post"],
    [["client_secret_basic", "private_key_jwt"], { jwks_uri: "https://app.example/jwks" }, "private_key_jwt"],
    [["none"], {}, "none"],
  ])("the strongest authentication method that the client supports: %j with %j is %s", async (list, more, method) => {
    const metadata = await choose({ token_endpoint_auth_methods_supported: list, ...more });
    expect(metadata.token_endpoint_auth_method).toBe(method);
  });

  it("§4: a preferred value that is not supported is replaced by one of the list", async () => {
    const metadata = await choose({
      ...{ id_token_signed_response_alg: "PS512", id_token_signing_alg_values_supported: ["PS512", "PS256"] },
      ...{ token_endpoint_auth_method: "client_secret_jwt" },
      token_endpoint_auth_methods_supported: ["client_secret_jwt", "client_secret_post"],
    });
    expect(metadata).toMatchObject({
      id_token_signed_response_alg: "PS256",
      token_endpoint_auth_method: "client_secret_post",
    });
  });

  it("a list of encryption algorithms asks for no encryption, and corrects the algorithm of a client that does", async () => {
    const { publicKey } = await generateKeyPair("ECDH-ES", { extractable: true });
    const jwks = { keys: [await exportJWK(publicKey)] };
    const lists = {
      id_token_encryption_alg_values_supported: ["RSA1_5", "ECDH-ES"],
      request_object_encryption_enc_values_supported: ["A256GCM"],
    };
    expect(Object.keys(await choose({ jwks, ...lists })).filter((name) => name.includes("encrypt"))).toEqual([]);
    const asked = await choose({ jwks, ...lists, id_token_encrypted_response_alg: "RSA1_5" });
    expect(asked.id_token_encrypted_response_alg).toBe("ECDH-ES");
  });

  it("a list without a supported value is refused, and so is one that contradicts the single member", async () => {
    expect(await fault({ id_token_signing_alg_values_supported: ["HS256", "none"] })).toBe(
      "id_token_signing_alg_values_supported: has no value that this provider supports",
    );
    expect(await fault({ subject_type: "public", subject_types_supported: ["pairwise"] })).toBe(
      "subject_types_supported: does not contain the value of subject_type",
    );
    expect(await fault({ subject_type: "public", subject_types_supported: ["pairwise", "public"] })).toBe("no fault");
  });
});
