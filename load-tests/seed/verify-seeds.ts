import { basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { DpopProofs } from "../lib/dpop-proofs.ts";
import {
  type Answer,
  judgeExchange,
  judgeIdJag,
  judgeIntrospection,
  judgeUserinfo,
  type Verdict,
} from "../lib/judge.ts";
import type { Seed, SeedFile } from "../lib/seed-file.ts";
import { variationAt } from "../lib/variations.ts";
import { idJagSigner, jwtBearerGrant } from "./identity-provider.ts";

const samples = 3;
const accessToken = "urn:ietf:params:oauth:token-type:access_token";

/**
 * **Sends a few seeds of each class to the provider** and checks the responses as a run does. Returns the errors by class, none if the seeds are
 * valid. Refresh tokens are skipped, because using one spends it.
 */
export async function verifySeeds(file: SeedFile): Promise<string[]> {
  const faults: string[] = [];
  for (const [className, seeds] of Object.entries(file.classes)) {
    if (className === "actor") continue;
    for (let sample = 0; sample < Math.min(samples, seeds.length); sample++) {
      const seed = seeds[Math.floor((sample * seeds.length) / samples)] ?? seeds[0]!;
      const verdict = await trySeed(file, className, seed, sample);
      if (verdict.kind !== "right")
        faults.push(`${className}: ${verdict.kind === "wrong" ? verdict.why : "no answer"}`);
    }
  }
  return faults;
}

async function trySeed(file: SeedFile, className: string, seed: Seed, sample: number): Promise<Verdict> {
  switch (file.scenario) {
    case "introspect":
      return judgeIntrospection(className, seed, await post(file, "/introspect", "resource", { token: seed.token! }));
    case "exchange": {
      const asked = variationAt(sample);
      const actor = className === "delegation" ? file.classes.actor![0]! : undefined;
      const answer = await post(file, "/token", "gateway", {
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token: seed.token!,
        subject_token_type: accessToken,
        ...asked,
        ...(actor === undefined ? {} : { actor_token: actor.token!, actor_token_type: accessToken }),
      });
      return judgeExchange(className, seed, { ...asked, actor: actor?.sub }, answer, readPayload);
    }
    case "userinfo": {
      const proof = proofOf(file, "GET", "/userinfo", seed.token);
      const scheme = file.dpopKey === undefined ? "Bearer" : "DPoP";
      const headers = { authorization: `${scheme} ${seed.token}`, ...proof };
      const response = await fetch(`${file.origin}/userinfo`, { headers });
      const text = await response.text();
      return judgeUserinfo(seed, { status: response.status, body: response.ok ? JSON.parse(text) : undefined });
    }
    case "id-jag": {
      const { identityProvider, clients, issuer } = file;
      const expected = { ...identityProvider!, sub: seed.sub! };
      const assertion = idJagSigner(
        { identityProvider: identityProvider!, client: clients["agent"]! },
        issuer,
      )(seed.sub!);
      const answer = await post(file, "/token", "agent", { grant_type: jwtBearerGrant, assertion });
      return judgeIdJag("once", expected, [answer], readPayload);
    }
    default:
      return { kind: "right" };
  }
}

async function post(file: SeedFile, path: string, client: string, form: Record<string, string>): Promise<Answer> {
  const authorization = basicAuthorization(file.clients[client]!);
  const { status, body } = await postForm(file.origin + path, form, { authorization, ...proofOf(file, "POST", path) });
  return { status, body };
}

function proofOf({ issuer, dpopKey }: SeedFile, method: "GET" | "POST", path: string, token?: string) {
  return dpopKey === undefined ? {} : { DPoP: new DpopProofs(issuer, dpopKey).make(method, path, token) };
}

function readPayload(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as Record<string, unknown>;
}
