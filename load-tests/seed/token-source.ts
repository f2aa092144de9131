import { randomBytes, randomUUID } from "node:crypto";
import { ApiError, type ApiResponse, basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import type { DpopProofs } from "../lib/dpop-proofs.ts";
import { jwtSigner } from "../lib/node-jwt-signer.ts";
import type { Seed, SeedClient } from "../lib/seed-file.ts";
import { patiently } from "./in-parallel.ts";
import type { Cast, CastName, Person } from "./provision.ts";

const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";
/** Half of the lifetime that the provider accepts (RFC 7523 §3): long enough for a queue, but short. */
const assertionSeconds = 300;

/** **Obtains tokens through the front door**: assertions for users (RFC 7523), client credentials for services, exchange, revocation. */
export class TokenSource {
  readonly #origin: string;
  readonly #cast: Cast;
  readonly #proofs: DpopProofs | undefined;
  readonly #sign: (claims: object) => string;

  /** With `proofs`, every token is bound to the key of the proofs. */
  constructor(origin: string, cast: Cast, proofs?: DpopProofs) {
    this.#proofs = proofs;
    this.#origin = origin;
    this.#cast = cast;
    this.#sign = jwtSigner({ kid: cast.tag }, cast.privateJwk);
  }

  /** Any response except a 503, after which it retries. */
  post(path: string, client: SeedClient, form: URLSearchParams): Promise<ApiResponse> {
    const authorization = basicAuthorization(client);
    const proof = () => (this.#proofs === undefined ? {} : { DPoP: this.#proofs.make("POST", path) });
    return patiently(() => postForm(this.#origin + path, form, { authorization, ...proof() }));
  }

  async #token(what: string, client: SeedClient, form: URLSearchParams): Promise<string> {
    const response = await this.post("/token", client, form);
    if (response.status !== 200) throw new ApiError(what, response);
    return String(response.body.access_token);
  }

  forPerson(clientName: CastName, person: Person, audiences: readonly string[]): Promise<string> {
    const client = this.#cast.clients[clientName];
    const iat = Math.floor(Date.now() / 1000);
    const claims = { iss: client.client_id, sub: person.sub, aud: this.#cast.issuer };
    const assertion = this.#sign({ ...claims, iat, exp: iat + assertionSeconds, jti: randomUUID() });
    const form = new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion });
    for (const audience of audiences) form.append("audience", audience);
    return this.#token("token for a person", client, form);
  }

  forService(name: CastName): Promise<string> {
    return this.#token(
      `token of ${name}`,
      this.#cast.clients[name],
      new URLSearchParams({ grant_type: "client_credentials" }),
    );
  }

  exchange(subjectToken: string, actorToken: string, audience: string, resource: string): Promise<string> {
    const form = new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: subjectToken,
      subject_token_type: accessTokenType,
      actor_token: actorToken,
      actor_token_type: accessTokenType,
      audience,
      resource,
    });
    return this.#token("token exchange", this.#cast.clients.gateway, form);
  }

  async revoke(clientName: CastName, token: string): Promise<void> {
    const response = await this.post("/revoke", this.#cast.clients[clientName], new URLSearchParams({ token }));
    if (response.status !== 200) throw new ApiError("revocation", response);
  }
}

/** A well-formed JWT with a wrong signature of the right length, which must really be verified to be refused. */
export function withWrongSignature(token: string): string {
  const [header, payload, signature = ""] = token.split(".");
  const bytes = randomBytes(Buffer.from(signature, "base64url").length);
  return [header, payload, bytes.toString("base64url")].join(".");
}

/** The expected introspection of a token, read from the token. */
export function describeToken(token: string): Seed {
  const claims = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as {
    sub: string;
    scope?: string;
    client_id: string;
    jti: string;
    exp: number;
    aud?: string | string[];
    act?: { sub: string };
  };
  const { sub, scope, client_id, jti, exp, aud = [], act } = claims;
  return {
    token,
    sub,
    ...(scope === undefined ? {} : { scope }),
    client_id,
    jti,
    exp,
    aud: [aud].flat(),
    ...(act === undefined ? {} : { actor: act.sub }),
  };
}
