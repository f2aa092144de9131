/**
 * **The algorithms by which this provider encrypts for clients**: asymmetric ones alone, since no client secret is stored that could be a
 * key. PKCS #1 v1.5 is missing (RFC 8725 §3.2). Client metadata and discovery derive from these lists.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7518#section-4
 */
export const keyManagementAlgorithms = ["RSA-OAEP-256", "ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A256KW"] as const;

export type KeyManagementAlgorithm = (typeof keyManagementAlgorithms)[number];

/** @see https://www.rfc-editor.org/rfc/rfc7518#section-5 */
export const contentEncryptionAlgorithms = ["A128CBC-HS256", "A256CBC-HS512", "A128GCM", "A256GCM"] as const;

export type ContentEncryptionAlgorithm = (typeof contentEncryptionAlgorithms)[number];
