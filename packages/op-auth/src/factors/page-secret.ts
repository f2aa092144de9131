import type { Browser } from "@edge-op/pages/cookies";
import { decodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { macText } from "@edge-op/shared/secrets/mac";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";

/**
 * **A secret that a page shows before anything is stored**: 32 bytes, a MAC over the page's purpose, its random id and the browser. Loading the page again
 * shows the same.
 */
export async function pageSecret(
  env: MasterKeyBindings,
  { id: browserId }: Pick<Browser, "id">,
  { purpose, id, of }: { readonly purpose: string; readonly id: string; readonly of: string },
): Promise<Uint8Array<ArrayBuffer>> {
  const parts = ["1", "2"].map((part) => macText(env, "cookie-mac", `${purpose}\n${part}\n${id}\n${browserId}\n${of}`));
  const joined = (await Promise.all(parts)).map((mac) => decodeBase64Url(mac)!);
  return new Uint8Array(joined.flatMap((bytes) => [...bytes]));
}
