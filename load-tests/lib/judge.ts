/**
 * **Decides whether a response is correct**, by class. Pure, so that the tests show each rule failing. A missing response (5xx, 429, a broken
 * connection) is not wrong; it lowers the share of successful responses. Any other deviation is wrong.
 */

import type { Seed } from "./seed-file.ts";

export type Verdict =
  | { readonly kind: "right" | "unavailable" }
  | { readonly kind: "wrong"; readonly how: WrongHow; readonly why: string };

/** The kinds of wrong responses, each with its own metric. */
export const wrongHows = ["false_positive", "false_negative", "claim_broken"] as const;
export type WrongHow = (typeof wrongHows)[number];

export interface Answer {
  readonly status: number;
  /** Parsed JSON, or `undefined`. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly location?: string;
}

export const right: Verdict = { kind: "right" };

export function wrong(how: WrongHow, why: string): Verdict {
  return { kind: "wrong", how, why };
}

export function isUnavailable({ status }: Answer): boolean {
  return status === 0 || status === 429 || status >= 500;
}

const unavailable: Verdict = { kind: "unavailable" };

export function judgeIntrospection(className: string, seed: Seed, answer: Answer): Verdict {
  if (isUnavailable(answer)) return unavailable;
  const { status, body } = answer;
  if (status !== 200 || typeof body?.["active"] !== "boolean")
    return wrong("claim_broken", `status ${status} without active`);
  const mustBeActive = className === "valid" || className === "exchanged";
  if (!mustBeActive) {
    if (body["active"]) return wrong("false_positive", `a token of class ${className} is answered active`);
    return Object.keys(body).length === 1 ? right : wrong("claim_broken", "an inactive answer says more than inactive");
  }
  if (!body["active"]) return wrong("false_negative", `a token of class ${className} is answered inactive`);
  return judgeClaims(seed, body, className === "exchanged");
}

function judgeClaims(seed: Seed, body: Readonly<Record<string, unknown>>, exchanged: boolean): Verdict {
  for (const name of ["sub", "scope", "client_id", "jti", "exp"] as const) {
    if (body[name] !== seed[name])
      return wrong("claim_broken", `${name} is ${String(body[name])}, not ${String(seed[name])}`);
  }
  if (!sameList(body["aud"], seed.aud)) return wrong("claim_broken", "aud is not that of the token");
  if (exchanged && actorOf(body) !== seed.actor) return wrong("claim_broken", "act is not the actor");
  if (exchanged && !sameList(body["resource"], seed.resource))
    return wrong("claim_broken", "resource is not that of the token");
  if (!exchanged && body["act"] !== undefined) return wrong("claim_broken", "an actor appeared");
  return right;
}

function sameList(answered: unknown, expected: readonly string[] | undefined): boolean {
  const values = answered === undefined ? [] : Array.isArray(answered) ? answered : [answered];
  const wanted = expected ?? [];
  return values.length === wanted.length && wanted.every((value) => values.includes(value));
}

function actorOf(claims: Readonly<Record<string, unknown>>): unknown {
  const act = claims["act"];
  return typeof act === "object" && act !== null ? (act as { sub?: unknown }).sub : undefined;
}

export interface Exchange {
  readonly audience: string;
  readonly resource: string;
  readonly scope: string;
  /** The `sub` of the actor token in the request. */
  readonly actor: string | undefined;
}

/** `readClaims` decodes the new token's payload; it is called only if there is a token. */
export function judgeExchange(
  className: string,
  seed: Seed,
  asked: Exchange,
  answer: Answer,
  readClaims: (token: string) => Readonly<Record<string, unknown>> | undefined,
): Verdict {
  if (isUnavailable(answer)) return unavailable;
  const { status, body } = answer;
  if (className !== "valid" && className !== "delegation") {
    if (status === 200) return wrong("false_positive", `a subject token of class ${className} was exchanged`);
    return status === 400 ? right : wrong("claim_broken", `status ${status} where 400 is due`);
  }
  if (status !== 200)
    return wrong("false_negative", `class ${className} was refused: ${status} ${String(body?.["error"])}`);
  const token = body?.["access_token"];
  const claims = typeof token === "string" && token !== seed.token ? readClaims(token) : undefined;
  if (claims === undefined) return wrong("claim_broken", "no new access_token");
  if (claims["sub"] !== seed.sub)
    return wrong("claim_broken", `sub is ${String(claims["sub"])}, not ${String(seed.sub)}`);
  if (!sameScope(body?.["scope"] ?? claims["scope"], asked.scope) || !sameScope(claims["scope"], asked.scope)) {
    return wrong("claim_broken", `scope is ${String(claims["scope"])}, not ${asked.scope}`);
  }
  if (!sameList(claims["aud"], [asked.audience, asked.resource]))
    return wrong("claim_broken", "aud is not what was asked for");
  return actorOf(claims) === asked.actor ? right : wrong("claim_broken", "act is not the actor that was presented");
}

function sameScope(answered: unknown, expected: string): boolean {
  return typeof answered === "string" && sameList(answered.split(" "), expected.split(" "));
}

export function judgeUserinfo(seed: Seed, answer: Answer): Verdict {
  if (isUnavailable(answer)) return unavailable;
  if (answer.status !== 200) return wrong("false_negative", `status ${answer.status}`);
  return answer.body?.["sub"] === seed.sub ? right : wrong("claim_broken", "sub is not that of the token");
}

/** A code must be returned to the requested redirect URI with the state that was sent. */
export function judgeCode(redirectUri: string, state: string, answer: Answer): Verdict {
  if (isUnavailable(answer)) return unavailable;
  const { status, location = "" } = answer;
  if (status !== 302 && status !== 303) return wrong("false_negative", `status ${status}`);
  if (!location.startsWith(`${redirectUri}?`)) return wrong("claim_broken", "redirected elsewhere");
  const code = queryValue(location, "code");
  if (code === undefined)
    return wrong("false_negative", `no code: ${queryValue(location, "error") ?? "no error either"}`);
  return queryValue(location, "state") === state ? right : wrong("claim_broken", "state is not what was sent");
}

/** A browser without a session and `prompt=none`: the client and its redirect URI are known. */
export function judgeLoginRequired(redirectUri: string, state: string, answer: Answer): Verdict {
  if (isUnavailable(answer)) return unavailable;
  const { status, location = "" } = answer;
  if (status !== 302 && status !== 303) return wrong("false_negative", `status ${status}`);
  if (!location.startsWith(`${redirectUri}?`)) return wrong("claim_broken", "redirected elsewhere");
  const error = queryValue(location, "error") ?? "no error";
  if (error !== "login_required") return wrong("claim_broken", `${error} where login_required is due`);
  return queryValue(location, "state") === state ? right : wrong("claim_broken", "state is not what was sent");
}

/**
 * An ID-JAG must yield a token for its user and resource, and exactly one of two uses must succeed (draft-ietf-oauth-identity-assertion-authz-grant
 * §4.4).
 */
export function judgeIdJag(
  className: string,
  expected: { readonly sub: string; readonly resource: string; readonly scope: string },
  answers: readonly Answer[],
  readClaims: (token: string) => Readonly<Record<string, unknown>> | undefined,
): Verdict {
  if (answers.some(isUnavailable)) return unavailable;
  const issued = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status, body }) => status === 400 && body?.["error"] === "invalid_grant");
  if (issued.length + refused.length < answers.length)
    return wrong("claim_broken", "neither a token nor invalid_grant");
  const due = className === "forged" ? 0 : 1;
  if (issued.length > due) return wrong("false_positive", `${issued.length} tokens of class ${className}`);
  if (issued.length < due) return wrong("false_negative", `class ${className} was refused`);
  const token = issued[0]?.body?.["access_token"];
  if (due === 0) return right;
  const claims = typeof token === "string" ? readClaims(token) : undefined;
  if (claims?.["sub"] !== expected.sub) return wrong("claim_broken", "sub is not that of the ID-JAG");
  if (!sameList(claims["aud"], [expected.resource]))
    return wrong("claim_broken", "aud is not the resource of the ID-JAG");
  return claims["scope"] === expected.scope ? right : wrong("claim_broken", "scope is not that of the ID-JAG");
}

/** k6 has no URL class. */
export function queryValue(location: string, name: string): string | undefined {
  const query = location.split("?", 2)[1]?.split("#", 1)[0] ?? "";
  const pair = query.split("&").find((each) => each.startsWith(`${name}=`));
  return pair === undefined ? undefined : decodeURIComponent(pair.slice(name.length + 1));
}

/** A rotation must return a new refresh token and an access token. */
export function judgeRotation(sent: string, answer: Answer): Verdict {
  if (isUnavailable(answer)) return unavailable;
  const { status, body } = answer;
  if (status !== 200) return wrong("false_negative", `refresh refused: ${status} ${String(body?.["error"])}`);
  if (typeof body?.["access_token"] !== "string") return wrong("claim_broken", "no access_token");
  const next = body["refresh_token"];
  return typeof next === "string" && next !== sent ? right : wrong("claim_broken", "the refresh token did not rotate");
}

/** Two responses to one token must contain the same successor (R1, R2). */
export function judgeSameSuccessor(
  sent: string,
  first: Answer,
  second: Answer,
  jtiOf: (answer: Answer) => unknown,
): Verdict {
  for (const answer of [first, second]) {
    const verdict = judgeRotation(sent, answer);
    if (verdict.kind !== "right") return verdict;
  }
  if (first.body?.["refresh_token"] !== second.body?.["refresh_token"])
    return wrong("claim_broken", "two successors of one refresh token");
  return jtiOf(first) === jtiOf(second) ? right : wrong("claim_broken", "two access tokens for one rotation");
}

/**
 * A refused retry whose response is so late that it is undecidable whether it arrived within the grace: the rules treat a late one as theft. Under
 * overload this is lost time, not a wrong response.
 */
export function isLateRefusal(answers: readonly Answer[], elapsedMs: number, graceMs: number): boolean {
  return (
    elapsedMs > graceMs && answers.some(({ status, body }) => status === 400 && body?.["error"] === "invalid_grant")
  );
}

/** The thief's token, and after it the family's newest, must both be refused (R3). */
export function judgeTheft(stolen: Answer, newest: Answer): Verdict {
  if (isUnavailable(stolen) || isUnavailable(newest)) return unavailable;
  if (stolen.status === 200) return wrong("false_positive", "a stolen refresh token was rotated");
  if (newest.status === 200) return wrong("false_positive", "a family lives after its theft was seen");
  const codes = [stolen, newest].map(({ body }) => body?.["error"]);
  return codes.every((code) => code === "invalid_grant")
    ? right
    : wrong("claim_broken", `refused as ${codes.join(", ")}`);
}
