/**
 * **Security profiles**, for a deployment or a client. `fapi2`: the FAPI 2.0 Security Profile. `fapi2_message_signing`: the same, with signed
 * requests and responses.
 *
 * @see https://openid.net/specs/fapi-security-profile-2_0-final.html
 * @see https://openid.net/specs/fapi-message-signing-2_0.html
 */
export const securityProfiles = ["none", "fapi2", "fapi2_message_signing"] as const;

export type SecurityProfile = (typeof securityProfiles)[number];
