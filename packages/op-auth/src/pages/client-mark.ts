import type { Client } from "@edge-op/shared/directory/client";

/** **How a client appears to people.** Its URLs are shown only as https: others are not for browsers to follow from here. */
export function clientMark({ clientId, metadata }: Client) {
  const secure = (uri: string | undefined) => (uri?.startsWith("https://") ? uri : undefined);
  return {
    name: metadata.client_name ?? clientId,
    logoUri: secure(metadata.logo_uri),
    policyUri: secure(metadata.policy_uri),
    tosUri: secure(metadata.tos_uri),
  };
}
