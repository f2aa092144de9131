/**
 * **The products of docs/clients.md, one after another**: `npm run products` runs all, `npm run products -- streamlit` those whose names contain it.
 * Each is installed from its registry, set up with the settings of the page, and shows sign-in, refresh and sign-out at a provider with https.
 */

import { products } from "./products.ts";
import { Stage } from "./stage.ts";

const wanted = process.argv.slice(2).map((word) => word.toLowerCase());
const chosen = products.filter(
  ({ name }) => wanted.length === 0 || wanted.some((word) => name.toLowerCase().includes(word)),
);
const stage = await Stage.open();
let failed = 0;
for (const product of chosen) {
  try {
    const { claims, refresh, signOut } = await stage.run(product);
    console.log(`${product.name}\n  claims    ${JSON.stringify(claims)}\n  refresh   ${refresh}\n  sign-out  ${signOut}`);
  } catch (error) {
    failed += 1;
    console.error(error);
  }
}
await stage.close();
console.log(`${chosen.length - failed} of ${chosen.length} products passed.`);
process.exit(failed === 0 ? 0 : 1);
