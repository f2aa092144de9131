import { type CloudflareApi, CloudflareError } from "./cloudflare-api.ts";
import { Refusal } from "./refusal.ts";

/** **The account of a deployment**: the one that is named, else the only one that the token can use. */
export async function chooseAccount(api: CloudflareApi, named: string | undefined): Promise<string> {
  const accounts = await readAccounts(api);
  const wanted = named ?? process.env["CLOUDFLARE_ACCOUNT_ID"];
  const list = accounts.map(({ id, name }) => `  ${id}  ${name}`);
  if (wanted !== undefined) {
    // A name is accepted too, because the dashboard shows it.
    const matching = accounts.filter(({ id, name }) => id === wanted || name === wanted);
    if (matching.length === 1) return matching[0]!.id;
    throw new Refusal([`The token cannot use the account "${wanted}". It can use:`, ...list]);
  }
  const [only, ...others] = accounts;
  if (only === undefined) throw new Refusal(["The token can use no account."]);
  if (others.length === 0) return only.id;
  throw new Refusal([
    "The token can use several accounts. Choose one with --account <id>; it is kept in the environment's file:",
    ...list,
  ]);
}

async function readAccounts(api: CloudflareApi): Promise<{ id: string; name: string }[]> {
  try {
    return await api.list<{ id: string; name: string }>("/accounts");
  } catch (error) {
    if (error instanceof CloudflareError && (error.status === 401 || error.status === 403 || error.status === 400)) {
      throw new Refusal([`Cloudflare refuses the token: ${error.message}`]);
    }
    throw error;
  }
}
