import { macText } from "../secrets/mac.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import type { Client } from "./client.ts";

/**
 * **What a client of `subject_type: pairwise` knows a person as**: the same for every client of one sector, of no use to
 * compare with any other sector's, and not to be turned back. `undefined` for public subjects.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#PairwiseAlg
 */
export async function pairwiseSubject(
  env: MasterKeyBindings,
  client: Client,
  sub: string,
): Promise<string | undefined> {
  if (client.metadata.subject_type !== "pairwise") return undefined;
  return macText(env, "pairwise-mac", `${sectorIdentifier(client)}\n${sub}`);
}

/** The host that stands for the client's sector. Registration has checked that its redirect URIs share one (§8.1). */
function sectorIdentifier({ clientId, metadata }: Client): string {
  const uri = metadata.sector_identifier_uri ?? metadata.redirect_uris[0];
  return uri === undefined ? clientId : new URL(uri).hostname || clientId;
}
