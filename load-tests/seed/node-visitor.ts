import { createHash, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ApiResponse,
  basicAuthorization,
  postForm,
  readResponse,
} from "../../packages/edge-op/src/provider-api.ts";
import type { Answer } from "../lib/judge.ts";
import type { Visitor } from "../lib/visit.ts";
import { Browser } from "./browser.ts";

/** **A person's browser and an application in Node.** */
export function nodeVisitor(origin: string, first = new Browser(origin)): Visitor {
  let browser = first;
  return {
    async page(method, path, form) {
      const response = await browser.send(path, method === "GET" ? undefined : new URLSearchParams(form ?? {}));
      const location = response.headers.get("location");
      const html = await response.text();
      const answer = { status: response.status, body: undefined, ...(location === null ? {} : { location }) };
      return { answer, html };
    },
    post: async (path, client, form) =>
      answerOf(await postForm(origin + path, form, { authorization: basicAuthorization(client) })),
    async userinfo(token) {
      const headers = { authorization: `Bearer ${token}` };
      return answerOf(await readResponse(await fetch(`${origin}/userinfo`, { headers })));
    },
    async mailbox(address) {
      return (await fetch(`${origin}/dev/mailbox?${new URLSearchParams({ to: address })}`)).text();
    },
    newPkce() {
      const verifier = randomBytes(32).toString("base64url");
      return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
    },
    readClaims(token) {
      const [, payload] = token.split(".");
      return payload === undefined
        ? undefined
        : (JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>);
    },
    wait: (seconds) => sleep(seconds * 1000),
    forget: () => {
      browser = new Browser(origin);
    },
  };
}

function answerOf({ status, body }: ApiResponse): Answer {
  return { status, body };
}
