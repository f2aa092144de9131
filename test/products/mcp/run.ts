import { mcpProducts } from "./mcp-products.ts";

const wanted = process.argv.slice(2);
for (const { name, show } of mcpProducts.filter(({ name }) => wanted.every((word) => name.includes(word)))) {
  const at = performance.now();
  console.log(name, await show().catch((error: unknown) => `FAILED ${(error as Error).message}`), Math.round((performance.now() - at) / 1000));
}
process.exit(0);
