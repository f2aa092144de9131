/**
 * **The products of docs/clients.md, one after another**: `npm run products` runs all, `npm run products -- streamlit` those whose names contain it.
 * Each is installed from its registry, set up with the settings of the page, and shows sign-in, refresh and sign-out at a provider with https; with
 * `--http`, at one as `npx edge-op dev` starts it.
 */

import { products } from "./products.ts";
import { Stage } from "./stage.ts";

const isHttp = process.argv.includes("--http");
const wanted = process.argv
  .slice(2)
  .filter((word) => word !== "--http")
  .map((word) => word.toLowerCase());
const chosen = products.filter(
  ({ name }) => wanted.length === 0 || wanted.some((word) => name.toLowerCase().includes(word)),
);
const stage = await Stage.open(isHttp ? "http" : "https");
let failed = 0;
for (const product of chosen) {
  try {
    const { claims, refresh, signOut } = await stage.run(product);
    const { npm, pip, go, deb, maven } = product.packages;
    const versions = [npm, pip, go, deb, maven].flat().filter((each) => each !== undefined);
    console.log(
      `${product.name} (${versions.join(" ")})\n  claims    ${JSON.stringify(claims)}\n  refresh   ${refresh}\n  sign-out  ${signOut}`,
    );
  } catch (error) {
    failed += 1;
    console.error(error);
  }
}
await stage.close();
console.log(`${chosen.length - failed} of ${chosen.length} products passed.`);
process.exit(failed === 0 ? 0 : 1);
