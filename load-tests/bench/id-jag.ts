import type { SeedClient } from "../lib/seed-file.ts";
import type { StartedProvider } from "../lib/start-provider.ts";
import { idJagSigner, jwtBearerGrant, registerIssuer } from "../seed/identity-provider.ts";
import type { Cast } from "../seed/provision.ts";

export interface IdJagSeeds {
  readonly client: SeedClient;
  /** The form of a request with an ID-JAG that was not sent before. */
  form(): string;
}

/**
 * **Prepares ID-JAGs for `/token`, each sent once**, from an identity provider whose key the bench has. A request costs the object call that records
 * the `jti`, a verification and a signature. The bench signs each one itself, in its own process.
 */
export async function prepareIdJags(provider: StartedProvider, cast: Cast): Promise<IdJagSeeds> {
  const registered = await registerIssuer(provider);
  const signFor = idJagSigner(registered, provider.issuer);
  let turn = 0;
  const form = () => {
    const { sub } = cast.people[turn++ % cast.people.length]!;
    return new URLSearchParams({ grant_type: jwtBearerGrant, assertion: signFor(sub) }).toString();
  };
  return { client: registered.client, form };
}
