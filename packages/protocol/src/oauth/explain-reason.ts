import remedies from "../../data/refusal-remedies.json" with { type: "json" };
import { isRefusalReason, type RefusalReason, refusalReasons } from "./refusal-reasons.ts";

/** What to do about a refusal, for operators and developers of clients. Of the Workers only op-management contains it. */
const refusalRemedies: Readonly<Record<RefusalReason, string>> = remedies;

/** The page of the documentation about a reason, by the beginning of its code. */
const pages: Readonly<Record<string, string>> = {
  "access-token": "operating/protect-an-api",
  acr: "operating/second-factors",
  actor: "operating/acting-for-users",
  attribute: "reference/admin-api",
  authority: "reference/admin-api",
  backups: "operating/backup",
  certificate: "operating/mutual-tls",
  details: "operating/authorization-details",
  document: "operating/agents",
  exchange: "operating/acting-for-users",
  factor: "operating/second-factors",
  fapi: "operating/fapi",
  host: "operating/agents",
  "id-jag": "operating/acting-for-users",
  invitation: "operating/sign-up",
  invitations: "operating/sign-up",
  issued: "operating/workloads",
  issuer: "operating/workloads",
  key: "operating/rotate-keys",
  keys: "operating/rotate-keys",
  may: "operating/acting-for-users",
  registration: "operating/agents",
  registrations: "operating/agents",
  scope: "reference/scopes-and-tokens",
  shards: "operating/resharding",
  generations: "operating/resharding",
  software: "operating/agents",
  subject: "operating/acting-for-users",
  upstream: "operating/upstream",
  upstreams: "operating/upstream",
  webhook: "operating/mail",
};

export interface ExplainedReason {
  /** The meaning of the reason, in Markdown. */
  readonly explanation: string;
  /** The change that fixes it, in Markdown. */
  readonly remedy: string;
  /** The path of a page in the repository. */
  readonly documentation: string;
}

/** **What a reason means and what to do about it.** An object or Worker of another release may have given a reason that is not in the table. */
export function explainReason(reason: string): ExplainedReason {
  if (!isRefusalReason(reason)) {
    return {
      explanation: "This release does not know the reason.",
      remedy: "Deploy the same release of every Worker.",
      documentation: "docs/operating/rollback.md",
    };
  }
  return {
    explanation: refusalReasons[reason],
    remedy: refusalRemedies[reason],
    documentation: refusalPage(reason),
  };
}

function refusalPage(reason: RefusalReason): string {
  const [first = "", second] = reason.split("-");
  return `docs/${pages[`${first}-${second}`] ?? pages[first] ?? "reference/endpoints"}.md`;
}
