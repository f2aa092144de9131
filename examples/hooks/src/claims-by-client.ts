import { WorkerEntrypoint } from "cloudflare:workers";
import type { ClaimsRequest, HookClaim, Hooks } from "@edge-op/hooks";

/**
 * **Gives each client the claims that its product expects**, by its name: here the user name that a wiki and a shop each want; the demo of
 * `npm start` is a shop.
 */
export default class extends WorkerEntrypoint implements Hooks {
  claims({ user, client }: ClaimsRequest): HookClaim[] {
    switch (client.client_name) {
      case "Wiki":
        return [{ name: "wiki_name", value: user.username.toUpperCase(), tokens: ["userinfo"] }];
      case "Demo application":
      case "Shop":
        return [{ name: "customer", value: { id: user.sub, login: user.username }, tokens: ["id_token"] }];
      default:
        return [];
    }
  }
}
