import { sleep } from "k6";
import http from "k6/http";
import type { Action } from "./people.ts";
import { newPkce } from "./pkce.ts";
import { readClaims } from "./provider.ts";
import type { Attempt } from "./scenario.ts";
import type { Visitor } from "./visit.ts";

/** The person of an attempt, with the seed of its class. Requests to the mailbox are not measured: it is no part of the provider. */
export function actionOf({ provider, seeds, className, seed, iteration }: Attempt): Action {
  const { origin } = seeds;
  const visitor: Visitor = {
    page: (...request) => provider.page(...request),
    post: (...request) => provider.post(...request),
    userinfo: (token) => provider.getWithToken("/userinfo", token),
    mailbox: (address) => {
      const url = `${origin}/dev/mailbox?to=${encodeURIComponent(address)}`;
      return http.get(url, { responseType: "text", tags: { name: "mailbox" } }).body ?? "";
    },
    newPkce,
    readClaims,
    wait: sleep,
    forget: () => http.cookieJar().clear(origin),
  };
  return { visitor, client: seeds.clients["app"]!, className, seed: seed(className), id: iteration };
}
