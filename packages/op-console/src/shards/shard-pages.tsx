import type { ShardedStore } from "@edge-op/shared/storage/shard-address";
import type { DeploymentReport } from "../api/resources.ts";
import { heldPath } from "../held-records/held-record-pages.tsx";
import { pairOf } from "../records/members.ts";
import { defineChange } from "../serve/define-change.tsx";
import { definePage } from "../serve/define-page.tsx";
import { type Field, linesOf } from "../serve/fields.tsx";
import { Actions, Done, Head, List, Section, timeText } from "../serve/parts.tsx";
import type { ConsoleRoute } from "../serve/route.ts";

interface Generation {
  readonly store: string;
  readonly generation: number;
  readonly regions: Readonly<Record<string, { readonly shards: number; readonly hint: string }>>;
  readonly minted_from: number;
  readonly minted_until?: number;
  readonly retired: boolean;
}

interface Leases {
  readonly shards: readonly {
    readonly shard: string;
    readonly since: number;
    readonly holders: number;
    readonly waiting: number;
    readonly waits: { readonly count: number; readonly longest_ms: number };
  }[];
}

/** Only the largest objects are shown: a page has 50 kB at most, and a deployment up to 900 objects. */
const mostShown = 60;
const mostBytes = 10_000_000_000;

const path = "/console/shards";
const scope = "admin:shards";

const stores = ["revocation", "refresh", "code", "session", "challenge", "relay"] as const satisfies ShardedStore[];

const fields: readonly Field[] = [
  { name: "store", label: "generation.store", kind: "choice", options: stores.map((store) => [store]) },
  { name: "regions", label: "generation.regions", help: "generation.regionsHelp", kind: "pairs" },
];

/** A store gets other shards: the only change that is never undone, and moves nothing. */
const open = defineChange({
  path: `${path}/generations/new`,
  scope,
  operations: ["openGeneration"],
  title: "generation.open",
  ends: "generation.openEnds",
  fields,
  find: async () => ({ name: "" }),
  request(_, values) {
    const regions = linesOf(values["regions"])
      .map(pairOf)
      .map(([name, shards]) => [name, { shards: Number(shards) }]);
    return {
      method: "POST",
      path: "/shards/generations",
      body: { store: values["store"], regions: Object.fromEntries(regions) },
    };
  },
  done: () => path,
  back: () => path,
});

export const shardPages: readonly ConsoleRoute[] = [
  open,
  definePage({
    path,
    scope,
    operations: ["listGenerations", "reportDeployment", "listShardLeases"],
    async show({ api, t, query }) {
      const [{ generations }, deployment, { shards }] = await Promise.all([
        api.get<{ readonly generations: readonly Generation[] }>("/shards/generations"),
        api.get<DeploymentReport>("/deployment"),
        api.get<Leases>("/shards/revocation/leases"),
      ]);
      const largest = deployment.objects.toSorted((one, other) => other.bytes - one.bytes).slice(0, mostShown);
      const busiest = shards
        .toSorted((one, other) => other.waiting - one.waiting || other.holders - one.holders)
        .slice(0, mostShown);
      const more = deployment.objects.length - largest.length + deployment.not_called;
      const share = new Intl.NumberFormat(t.language, { style: "percent", maximumFractionDigits: 2 });
      const children = (
        <>
          <Head title={t("shards.title")} text={t("shards.text")} />
          <Done t={t} query={query} />
          {deployment.unreachable.length > 0 && (
            <Section title={t("shards.unreachable")}>
              <List t={t} items={deployment.unreachable.slice(0, mostShown).map((name) => ({ name }))} />
            </Section>
          )}
          <Section title={t("shards.generations")}>
            <List
              t={t}
              items={generations.slice(-mostShown).map(({ store, generation, regions, retired, ...minted }) => ({
                name: `${store} ${generation}`,
                note: retired
                  ? t("shards.retired")
                  : minted.minted_until === undefined
                    ? t("shards.newest")
                    : undefined,
                detail: [
                  Object.entries(regions)
                    .map(([name, region]) => `${name}: ${region.shards}`)
                    .join(", "),
                  minted.minted_from === 0 ? undefined : t("shards.from", { time: timeText(minted.minted_from) ?? "" }),
                ],
              }))}
            />
            <Actions
              actions={[
                { href: `${path}/generations/new`, text: t("generation.open") },
                { href: heldPath, text: t("shards.held") },
              ]}
            />
          </Section>
          <Section title={t("shards.objects")}>
            <List
              t={t}
              items={largest.map(({ name, bytes, version }) => ({
                name,
                detail: [
                  t("shards.full", { size: Math.ceil(bytes / 1000), share: share.format(bytes / mostBytes) }),
                  version === "" ? undefined : t("shards.version", { version }),
                ],
              }))}
            />
            {more > 0 && <p class="muted">{t("shards.more", { count: more })}</p>}
          </Section>
          <Section title={t("shards.leases")}>
            <List
              t={t}
              items={busiest.map(({ shard, since, holders, waiting, waits }) => ({
                name: shard,
                detail: [
                  t("shards.holders", { count: holders, waiting }),
                  t("shards.waits", { count: waits.count, time: timeText(since) ?? "", ms: waits.longest_ms }),
                ],
              }))}
            />
          </Section>
        </>
      );
      return { title: t("shards.title"), children };
    },
  }),
];
