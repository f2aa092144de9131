import { honoOidcAuth } from "./hono-oidc-auth.ts";
import type { Product } from "./stage.ts";

/** The products of docs/clients.md that the registries have. */
export const products: readonly Product[] = [honoOidcAuth];
