import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, nextCursor, pageQuery, readCursor } from "../admin/list-page.ts";
import { mayBeConflict, nextVersion, retryOnConflict } from "../admin/optimistic-concurrency.ts";
import { domainFault } from "./domain-name.ts";
import { lookUpRecord, recordName, recordValue } from "./domain-record.ts";
import { afterDecision, afterLookUp, type DomainClaim } from "./domain-rule.ts";
import { readClaims, refuseOtherClaims, writeClaims } from "./domain-store.ts";
import { organizations } from "./organization-table.ts";

const scope = "admin:users";
const path = "/organizations/{org_id}/domains";
const mostDomains = 50;

const domainSchema = z
  .strictObject({
    domain: z.string(),
    state: z.enum(["pending", "verified", "contested", "lapsed"]),
    record_name: z.string().describe("Where its TXT record must be."),
    record_value: z.string().describe("What that record must contain, alone."),
    checked_at: z.int().optional().describe("Of the last look-up, in seconds since the epoch."),
    verified_at: z.int().optional().describe("When it became verified, in seconds since the epoch."),
    absent_since: z.int().optional().describe("Since when the record is absent, in seconds since the epoch."),
  })
  .meta({
    id: "OrganizationDomain",
    examples: [
      {
        ...{ domain: "example.com", state: "verified", record_name: "_edge-op.example.com" },
        ...{ record_value: "pYc2T0F3m6q1Xn4bV8sLwg", checked_at: 1795000000, verified_at: 1795000000 },
      },
    ],
  });

type Call = AdminCall<unknown, unknown>;
type Shown = Pick<DomainClaim, "state" | "checkedAtMs" | "verifiedAtMs" | "absentSinceMs">;

const addressed = (call: Call) => ({ orgId: call.parameter("org_id"), domain: call.parameter("domain") });

async function show(
  { context }: Call,
  { orgId, domain }: { readonly orgId: string; readonly domain: string },
  claim: Shown,
) {
  const { env, settings } = context;
  const { state, checkedAtMs, verifiedAtMs, absentSinceMs } = claim;
  return {
    ...{ domain, state, record_name: recordName(domain) },
    record_value: await recordValue(env, { issuer: settings.issuer, orgId, domain }),
    ...(checkedAtMs > 0 && { checked_at: toSeconds(checkedAtMs) }),
    ...(verifiedAtMs !== undefined && { verified_at: toSeconds(verifiedAtMs) }),
    ...(absentSinceMs !== undefined && { absent_since: toSeconds(absentSinceMs) }),
  };
}

/** The claim of the path, what others hold of the domain, and both as they were read. */
async function requireClaim(call: Call) {
  const { orgId, domain } = addressed(call);
  const read = await readClaims(call.context.env.DB, orgId, domain);
  const own = read.find((claim) => claim.orgId === orgId);
  if (own === undefined) throw new OAuthError("not_found", "organization-not-found");
  return { orgId, domain, read, own, others: read.filter((claim) => claim !== own) };
}

type Claims = Awaited<ReturnType<typeof requireClaim>>;

function eventOf(verb: string, { orgId, domain }: Pick<Claims, "orgId" | "domain">, detail: object = {}) {
  return { action: `organization.domain_${verb}`, target: orgId, detail: { domain, ...detail } };
}

/** Writes what was decided on the claims as they were read; `undefined` if they have changed. */
async function commit(call: Call, verb: string, claims: Claims, changed: readonly DomainClaim[]) {
  const { DB } = call.context.env;
  const own = changed.find(({ orgId }) => orgId === claims.orgId) ?? claims.own;
  try {
    await commitChange(call, {
      statements: [refuseOtherClaims(DB, claims), writeClaims(DB, claims, changed)],
      forget: [],
      event: eventOf(verb, claims, { state: own.state }),
    });
  } catch (cause) {
    if (!mayBeConflict(cause)) throw cause;
    const now = await readClaims(DB, claims.orgId, claims.domain);
    if (JSON.stringify(now) !== JSON.stringify(claims.read)) return undefined;
    throw cause;
  }
  return { body: await show(call, claims, own) };
}

function conflict(description: string): OAuthError {
  return new OAuthError("conflict", "organization-domain", { description });
}

const response = { status: 200, description: "The domain.", schema: domainSchema } as const;

const list = defineRoute({
  method: "GET",
  path,
  operationId: "listDomains",
  summary: "Lists the domains of an organisation in their order, a page at a time.",
  scope,
  query: pageQuery,
  response: {
    status: 200,
    description: "A page of domains.",
    schema: z.strictObject({ domains: z.array(domainSchema), next_cursor: nextCursor }).meta({ id: "DomainList" }),
  },
  async handle(call) {
    const { DB } = call.context.env;
    const { orgId } = await organizations.require(DB, call.parameter("org_id"));
    const { cursor, limit } = call.query;
    const select = DB.prepare(
      `SELECT domain, state, checked_at_ms AS checkedAtMs, verified_at_ms AS verifiedAtMs, absent_since_ms AS absentSinceMs
         FROM organization_domains WHERE org_id = ?1 AND domain > ?2 ORDER BY domain LIMIT ?3`,
    ).bind(orgId, readCursor(cursor), limit + 1);
    type Row = Pick<DomainClaim, "state" | "checkedAtMs"> & {
      readonly domain: string;
      readonly verifiedAtMs: number | null;
      readonly absentSinceMs: number | null;
    };
    const { results } = await queryDatabase(() => select.all<Row>());
    const { page, next } = cutPage(results, limit, ({ domain }) => domain);
    const domains = page.map(({ domain, verifiedAtMs, absentSinceMs, ...claim }) => {
      const times = { verifiedAtMs: verifiedAtMs ?? undefined, absentSinceMs: absentSinceMs ?? undefined };
      return show(call, { orgId, domain }, { ...claim, ...times });
    });
    return { body: { domains: await Promise.all(domains), ...next } };
  },
});

const claim = defineRoute({
  method: "PUT",
  path: `${path}/{domain}`,
  operationId: "claimDomain",
  summary:
    "Claims a domain for an organisation, and shows the TXT record that proves it. At most 50 of an organisation.",
  scope,
  response,
  async handle(call) {
    const { DB } = call.context.env;
    const { orgId, domain } = addressed(call);
    await organizations.require(DB, orgId);
    const fault = await domainFault(domain);
    if (fault !== undefined) throw invalidFields([{ path: "domain", message: fault }]);
    const find = async () => (await readClaims(DB, orgId, domain)).find((known) => known.orgId === orgId);
    const known = await find();
    if (known !== undefined) return { body: await show(call, { orgId, domain }, known) };
    const insert = DB.prepare(
      `INSERT INTO organization_domains (org_id, domain, created_at_ms, state) SELECT ?1, ?2, ?3,
         CASE WHEN (SELECT count(*) FROM organization_domains WHERE org_id = ?1) < ${mostDomains} THEN 'pending' END`,
    ).bind(orgId, domain, nowMs());
    try {
      await commitChange(call, { statements: [insert], forget: [], event: eventOf("claim", { orgId, domain }) });
    } catch (cause) {
      if (!mayBeConflict(cause)) throw cause;
      const other = await find();
      if (other !== undefined) return { body: await show(call, { orgId, domain }, other) };
      const count = DB.prepare("SELECT count(*) AS n FROM organization_domains WHERE org_id = ?1").bind(orgId);
      if (((await queryDatabase(() => count.first<number>("n"))) ?? 0) < mostDomains) throw cause;
      throw conflict(`The organisation has ${mostDomains} domains already.`);
    }
    const created = { state: "pending", checkedAtMs: 0, verifiedAtMs: undefined, absentSinceMs: undefined } as const;
    return { body: await show(call, { orgId, domain }, created) };
  },
});

const check = defineRoute({
  method: "POST",
  path: `${path}/{domain}/check`,
  operationId: "checkDomain",
  summary:
    "Looks up the record of a domain at two resolvers. It is verified if both see it; if another organisation has proven the domain and its record is gone, the domain is contested.",
  scope,
  response,
  handle: (call) =>
    retryOnConflict(async () => {
      const claims = await requireClaim(call);
      const { env, settings } = call.context;
      const { domain, own, others } = claims;
      const lookUp = (orgId: string) => lookUpRecord(env, { issuer: settings.issuer, orgId, domain });
      const answer = await lookUp(own.orgId);
      // Only a proof leads to those of others, so a claim alone causes no look-ups of them.
      const isProof = answer === "present" && own.state !== "verified";
      const asked = others.map(async (other) => ({
        claim: other,
        answer: isProof && other.state === "verified" ? await lookUp(other.orgId) : ("unknown" as const),
      }));
      const outcome = afterLookUp(own, answer, await Promise.all(asked), nextVersion(own.checkedAtMs, nowMs()));
      if (outcome.kind === "held") throw conflict("Another organisation has proven this domain.");
      return commit(call, "check", claims, outcome.claims);
    }),
});

const decide = defineRoute({
  method: "POST",
  path: `${path}/{domain}/decision`,
  operationId: "decideDomain",
  summary:
    "Decides that a contested domain is this organisation's. It is then verified, and every other claim of it is pending.",
  scope,
  response,
  handle: (call) =>
    retryOnConflict(async () => {
      const claims = await requireClaim(call);
      const { own, others } = claims;
      if (own.state !== "contested") throw conflict("The domain is not contested.");
      return commit(call, "decide", claims, afterDecision(own, others, nextVersion(own.checkedAtMs, nowMs())));
    }),
});

const remove = defineRoute({
  method: "DELETE",
  path: `${path}/{domain}`,
  operationId: "deleteDomain",
  summary:
    "Deletes a domain of an organisation: nobody joins by it any more, and another organisation can prove it. Members stay.",
  scope,
  response: { status: 204, description: "The domain is deleted." },
  async handle(call) {
    const { orgId, domain } = await requireClaim(call);
    const statement = call.context.env.DB.prepare("DELETE FROM organization_domains WHERE org_id = ?1 AND domain = ?2");
    const statements = [statement.bind(orgId, domain)];
    await commitChange(call, { statements, forget: [], event: eventOf("delete", { orgId, domain }) });
    return { body: undefined };
  },
});

/**
 * **`/admin/organizations/{org_id}/domains`** (ADR 72). What a look-up decides is `domain-rule.ts`. Cost: a list 2 D1 calls; a claim 3; a check 2 and
 * 2 fetches, 4 if another organisation has it; a decision 2.
 */
export const domainRoutes: readonly AdminRoute[] = [list, claim, check, decide, remove];
