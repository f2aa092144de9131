import encoding from "k6/encoding";
import http, { type RefinedResponse } from "k6/http";
import type { Answer } from "./judge.ts";
import type { ProofSupply } from "./proof-supply.ts";
import type { SeedClient } from "./seed-file.ts";

export type Report = (response: RefinedResponse<"text">, answer: Answer) => void;

const formType = "application/x-www-form-urlencoded";

function authorizationOf({ client_id, client_secret }: SeedClient): string {
  return `Basic ${encoding.b64encode(`${encodeURIComponent(client_id)}:${encodeURIComponent(client_secret)}`)}`;
}

function answerOf(response: RefinedResponse<"text">): Answer {
  const location = response.headers["Location"];
  const text = response.body;
  const isJson = (response.headers["Content-Type"] ?? "").startsWith("application/json");
  return {
    status: response.status,
    body: isJson && typeof text === "string" && text !== "" ? (JSON.parse(text) as Record<string, unknown>) : undefined,
    ...(location === undefined ? {} : { location }),
  };
}

/** **Calls the provider like an application**, with forms and bearer tokens. Each response is reported before it is checked. */
export class Provider {
  readonly #origin: string;
  readonly #report: Report;
  readonly #proofs: ProofSupply | undefined;

  /** With `proofs`, each request contains one. */
  constructor(origin: string, report: Report, proofs?: ProofSupply) {
    this.#origin = origin;
    this.#report = report;
    this.#proofs = proofs;
  }

  #finish(response: RefinedResponse<"text">): Answer {
    const answer = answerOf(response);
    this.#report(response, answer);
    return answer;
  }

  post(path: string, client: SeedClient, form: Record<string, string>): Answer {
    return this.#finish(http.post(this.#origin + path, form, this.#formParams(path, client)));
  }

  /** Sends both requests at the same time. */
  postTwice(path: string, client: SeedClient, form: Record<string, string>): [Answer, Answer] {
    const request = () => ({
      method: "POST",
      url: this.#origin + path,
      body: form,
      params: this.#formParams(path, client),
    });
    const [first, second] = http.batch([request(), request()]) as unknown as [
      RefinedResponse<"text">,
      RefinedResponse<"text">,
    ];
    return [this.#finish(first), this.#finish(second)];
  }

  #formParams(path: string, client: SeedClient) {
    return {
      headers: { Authorization: authorizationOf(client), "Content-Type": formType, ...this.#proof() },
      redirects: 0,
      responseType: "text" as const,
      tags: { name: path },
    };
  }

  #proof(): Record<string, string> {
    return this.#proofs === undefined ? {} : { DPoP: this.#proofs.take() };
  }

  /** A request to a protected resource. */
  getWithToken(path: string, token: string): Answer {
    const scheme = this.#proofs === undefined ? "Bearer" : "DPoP";
    return this.get(path, { Authorization: `${scheme} ${token}`, ...this.#proof() });
  }

  get(path: string, headers: Record<string, string>, name = path): Answer {
    const url = path.startsWith("http") ? path : this.#origin + path;
    return this.#finish(http.get(url, { headers, redirects: 0, responseType: "text", tags: { name } }));
  }

  /** Requests a page and returns its HTML; its forms are posted to their action URLs. */
  page(
    method: "GET" | "POST",
    path: string,
    form: Record<string, string> | null,
    name: string,
  ): { answer: Answer; html: string; url: string } {
    const url = path.startsWith("http") ? path : this.#origin + path;
    const headers: Record<string, string> = form === null ? {} : { "Content-Type": formType, Origin: this.#origin };
    const response = http.request(method, url, form, { headers, redirects: 0, responseType: "text", tags: { name } });
    return { answer: this.#finish(response), html: response.body ?? "", url };
  }
}

/** The claims of a JWT that the provider just issued; its signature is not verified here. */
export function readClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  const payload = token.split(".")[1];
  return payload === undefined
    ? undefined
    : (JSON.parse(encoding.b64decode(payload, "rawurl", "s")) as Record<string, unknown>);
}
