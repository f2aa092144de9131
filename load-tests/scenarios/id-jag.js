import { judgeIdJag } from "../lib/judge.ts";
import { JwtSigner } from "../lib/jwt-signer.ts";
import { readClaims } from "../lib/provider.ts";
import { defineScenario } from "../lib/scenario.ts";

let signer;

// POST /token with an ID-JAG that was not sent before: once; twice at the same moment; with a signature of another one.
export const { options, setup, measured, warmUp, handleSummary } = defineScenario("id-jag", async (attempt) => {
  const { className, provider, seeds } = attempt;
  const { issuer, key, resource, scope } = seeds.identityProvider;
  signer ??= new JwtSigner({ typ: "oauth-id-jag+jwt" }, key);
  const { sub } = attempt.seed(className);
  const now = Math.floor(Date.now() / 1000);
  const usual = {
    iss: issuer,
    sub,
    aud: seeds.issuer,
    client_id: seeds.clients.agent.client_id,
    resource,
    scope,
    iat: now,
    exp: now + 300,
  };
  const sign = () => signer.sign({ ...usual, jti: crypto.randomUUID() });
  const parts = (await sign()).split(".");
  const assertion = [...parts.slice(0, 2), className === "forged" ? (await sign()).split(".")[2] : parts[2]].join(".");
  const form = { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion };
  const answers =
    className === "twice"
      ? provider.postTwice("/token", seeds.clients.agent, form)
      : [provider.post("/token", seeds.clients.agent, form)];
  return judgeIdJag(className, { sub, resource, scope }, answers, readClaims);
});
