/**
 * **O7, over random histories**: after a removal or the disabling of an organisation, no token of before is accepted, whatever is given again; and
 * what was given after it is. A member joins, leaves and joins again, signs in once or often, and gets grants in a session that may be older than the
 * membership. The decision of shards (access tokens) and that of records (refresh tokens, codes) are compared with what happened; each broken variant
 * of either must be caught.
 */

import { describe, expect, it } from "vitest";
import { cutOffKey, type RecordedCutOff } from "../../src/cut-offs/cut-offs.ts";
import { newGrantId, readGrantVersions } from "../../src/grants/grant.ts";
import {
  cutOffKeys,
  grantSubject,
  isCutOff,
  isCutOffByRecords,
  type RevocationSubject,
} from "../../src/leases/revocation-subject.ts";

const address = { generation: 1, region: "wnam", shard: 0 };
const organizations = ["acme", "beta"] as const;
type Org = (typeof organizations)[number];
const people = ["ann", "bob"] as const;

interface Grant {
  readonly subject: RevocationSubject;
  readonly orgId: Org | undefined;
  readonly sub: string;
  isEnded: boolean;
}

/** What a shard and a record decide about a grant. */
interface Decisions {
  isAccepted(subject: RevocationSubject, cutOffs: ReadonlyMap<string, number>): boolean;
  isRefreshed(subject: RevocationSubject, record: Record_): boolean;
}

/** The copy of a membership with that of its organisation. */
interface Record_ {
  readonly isActive: boolean;
  readonly cutOffs: readonly RecordedCutOff[];
}

const real: Decisions = {
  isAccepted: (subject, cutOffs) =>
    !cutOffKeys(subject).some((key) => cutOffs.has(key) && isCutOff(subject, { key, version: cutOffs.get(key)! })),
  isRefreshed: (subject, { isActive, cutOffs }) =>
    (subject.orgId === undefined || isActive) && !isCutOffByRecords(subject, [{ cutOffs }]),
};

const withoutKey = (kind: "member" | "org"): Decisions => ({
  ...real,
  isAccepted: (subject, cutOffs) =>
    real.isAccepted(subject, new Map([...cutOffs].filter(([key]) => !key.startsWith(cutOffKey(kind, ""))))),
});

const mutants: Readonly<Record<string, Decisions>> = {
  "shards that do not know cut-offs of members": withoutKey("member"),
  "shards that do not know cut-offs of organisations": withoutKey("org"),
  "tokens without their organisation": {
    ...real,
    isAccepted: (subject, cutOffs) => real.isAccepted({ ...subject, orgId: undefined }, cutOffs),
  },
  "the version of the sign-in in place of the grant's": {
    ...real,
    isAccepted: (subject, cutOffs) => {
      const { user } = readGrantVersions(subject.grantId);
      return real.isAccepted({ ...subject, versions: { client: user, user } }, cutOffs);
    },
  },
  "a cut-off of a member that ends the person's other organisations": {
    ...real,
    isAccepted: (subject, cutOffs) =>
      real.isAccepted(subject, cutOffs) &&
      ![...cutOffs].some(
        ([key, version]) =>
          key.endsWith(`:${subject.sub}`) &&
          subject.orgId !== undefined &&
          readGrantVersions(subject.grantId).client < version,
      ),
  },
  "records without cut-offs": {
    ...real,
    isRefreshed: (subject, record) => real.isRefreshed(subject, { ...record, cutOffs: [] }),
  },
  "refreshes that do not ask for the membership": {
    ...real,
    isRefreshed: (subject, record) => real.isRefreshed(subject, { ...record, isActive: true, cutOffs: [] }),
  },
};

function random(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** The first contradiction between the decisions and what happened. */
function contradiction(seed: number, decisions: Decisions): string | undefined {
  const next = random(seed);
  const pick = <T>(values: readonly T[]): T => values[next(values.length)]!;
  let version = 1;
  const active = new Set<Org>(organizations);
  const members = new Set<string>();
  const cutOffs = new Map<string, number>();
  const signedInAt = new Map<string, number>(people.map((sub) => [sub, 1]));
  const grants: Grant[] = [];
  const endGrants = (ends: (grant: Grant) => boolean) => {
    for (const grant of grants) if (ends(grant)) grant.isEnded = true;
  };
  const recordOf = (orgId: Org, sub: string): Record_ => {
    const keys = [cutOffKey("org", orgId), cutOffKey("member", `${orgId}:${sub}`)];
    return {
      isActive: active.has(orgId) && members.has(`${orgId}:${sub}`),
      cutOffs: keys.flatMap((key) => (cutOffs.has(key) ? [{ key, version: cutOffs.get(key)! }] : [])),
    };
  };
  const events = [
    (orgId: Org, sub: string) => void members.add(`${orgId}:${sub}`),
    (orgId: Org, sub: string) => {
      if (!members.delete(`${orgId}:${sub}`)) return;
      version += 1;
      cutOffs.set(cutOffKey("member", `${orgId}:${sub}`), version);
      endGrants((grant) => grant.orgId === orgId && grant.sub === sub);
    },
    (orgId: Org) => {
      version += 1;
      if (!active.delete(orgId)) return void active.add(orgId);
      cutOffs.set(cutOffKey("org", orgId), version);
      endGrants((grant) => grant.orgId === orgId);
    },
    (_: Org, sub: string) => void signedInAt.set(sub, version),
    // A change of something else.
    () => {
      version += 1;
    },
  ];
  const grant = (orgId: Org, sub: string) => {
    const of = next(4) === 0 ? undefined : orgId;
    if (of !== undefined && !recordOf(of, sub).isActive) return;
    const grantId = newGrantId({ client: version, user: signedInAt.get(sub)! });
    const subject = grantSubject({ grantId, address }, { sub, clientId: "app", orgId: of });
    grants.push({ subject, orgId: of, sub, isEnded: false });
  };
  for (let turn = 0; turn < 60; turn += 1) {
    const [orgId, sub] = [pick(organizations), pick(people)];
    if (next(2) === 0) grant(orgId, sub);
    else pick(events)(orgId, sub);
    for (const { subject, isEnded, orgId: of = "acme", sub: whom } of grants) {
      if (decisions.isAccepted(subject, cutOffs) === isEnded)
        return `turn ${turn}: a token is ${isEnded ? "" : "not "}accepted`;
      const record = recordOf(of, whom);
      const isUsable = !isEnded && (subject.orgId === undefined || record.isActive);
      const seen = subject.orgId === undefined ? { isActive: true, cutOffs: [] } : record;
      if (decisions.isRefreshed(subject, seen) !== isUsable)
        return `turn ${turn}: a refresh is ${isUsable ? "refused" : "accepted"}`;
    }
  }
  return undefined;
}

const seeds = Array.from({ length: 300 }, (_, index) => index + 1);

describe("O7: a removed member's tokens end, and those of a member who was added again do not", () => {
  it("over random histories", () => {
    expect(seeds.flatMap((seed) => contradiction(seed, real) ?? [])).toEqual([]);
  });

  it.each(Object.entries(mutants))("a broken variant is caught: %s", (_, decisions) => {
    expect(seeds.some((seed) => contradiction(seed, decisions) !== undefined)).toBe(true);
  });
});

it("hostile case 24: the cut-offs of an organisation's token are those of the user, the client, the deployment, the member and the organisation", () => {
  const subject = grantSubject({ grantId: "grant", address }, { sub: "a:b", clientId: "app", orgId: "acme" });
  expect(cutOffKeys(subject)).toEqual([
    "nb:sub:a:b",
    "nb:client:app",
    "nb:tenant:default",
    "nb:member:acme:a:b",
    "nb:org:acme",
  ]);
});
