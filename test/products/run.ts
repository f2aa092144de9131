/**
 * **The products of docs/clients.md, the MCP clients of docs/operating/protect-an-mcp-server.md, the servers of docs/operating/protect-an-api.md,
 * the bridge of docs/operating/saml.md and the suites of docs/operating/scim.md, one after another**: `npm run products` runs all,
 * `npm run products -- streamlit` those whose names contain it. Each is installed from its registry, set up with the settings of the page, and shows
 * sign-in, refresh and sign-out (MCP: revocation; a server: what it accepts and refuses; a bridge: what is forged) at a provider.
 */

import { apiProducts } from "./apis/api-products.ts";
import { mcpProducts } from "./mcp/mcp-products.ts";
import { products } from "./products.ts";
import { samlProducts } from "./saml/saml-products.ts";
import { scimProducts } from "./scim/scim-products.ts";
import { Stage } from "./stage.ts";

const wanted = process.argv.slice(2).map((word) => word.toLowerCase());
const isWanted = ({ name }: { readonly name: string }) =>
  wanted.length === 0 || wanted.some((word) => name.toLowerCase().includes(word));
const [chosen, others] = [
  products.filter(isWanted),
  [...mcpProducts, ...apiProducts, ...samlProducts, ...scimProducts].filter(isWanted),
];
let failed = 0;

async function run(name: string, show: () => Promise<object>): Promise<void> {
  try {
    const lines = Object.entries(await show()).map(
      ([what, shown]) => `  ${what.padEnd(12)} ${typeof shown === "string" ? shown : JSON.stringify(shown)}`,
    );
    console.log([name, ...lines].join("\n"));
  } catch (error) {
    failed += 1;
    console.error(error);
  }
}

const stage = chosen.length > 0 ? await Stage.open() : undefined;
for (const product of chosen) {
  const { npm, pip, go, deb, maven } = product.packages;
  const versions = [npm, pip, go, deb, maven].flat().filter((each) => each !== undefined);
  await run(`${product.name} (${versions.join(" ")})`, () => stage!.run(product));
}
await stage?.close();
for (const { name, show } of others) await run(name, show);
const count = chosen.length + others.length;
console.log(`${count - failed} of ${count} products passed.`);
process.exit(failed === 0 ? 0 : 1);
