import type { Paged } from "../api/resources.ts";
import { defineChange } from "../serve/define-change.tsx";
import { definePage } from "../serve/define-page.tsx";
import type { Field } from "../serve/fields.tsx";
import type { ConsoleKey } from "../serve/messages.ts";
import { Actions, Done, Head, List, Pager, timeText } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";

interface HeldRecord {
  readonly kind: string;
  readonly id: string;
  readonly lost: string;
  readonly held_at: number;
}

export interface HeldRecords extends Paged {
  readonly held_records: readonly HeldRecord[];
}

export const heldPath = "/console/held-records";
const common = { scope: "admin:shards" } as const;

const fields: readonly Field[] = [
  {
    ...{ name: "decision", label: "held.decision", kind: "choice" },
    options: [
      ["refuse", "held.refuse"],
      ["restore", "held.restore"],
    ],
  },
];

function decision(
  below: string,
  { title, ends }: { readonly title: ConsoleKey; readonly ends: ConsoleKey },
  recordOf: (at: PageCall) => Pick<HeldRecord, "kind" | "id"> | undefined,
) {
  return defineChange({
    ...{ ...common, path: `${heldPath}${below}`, operations: ["decideHeldRecords"], fields, title, ends },
    find: async (at) => {
      const record = recordOf(at);
      return { name: record === undefined ? "" : `${record.kind} ${record.id}` };
    },
    request(at, values) {
      const record = recordOf(at);
      const body = { decision: values["decision"], ...(record && { records: [record] }) };
      return { method: "POST", path: "/held-records/decision", body };
    },
    done: () => heldPath,
    back: () => heldPath,
  });
}

/** **What is refused after the database was restored to an earlier moment**, and the decisions about it. */
export const heldPages: readonly ConsoleRoute[] = [
  definePage({
    ...{ ...common, path: heldPath, operations: ["listHeldRecords"] },
    async show({ api, t, query, path }) {
      const { held_records: records, next_cursor: next } = await api.get<HeldRecords>("/held-records", {
        cursor: query.get("cursor") ?? undefined,
      });
      const items = records.map(({ kind, id, lost, held_at: at }) => ({
        name: `${kind} ${id}`,
        detail: [t("held.lost", { action: lost, time: timeText(at) ?? "" })],
        actions: [{ href: `${heldPath}/${kind}/${encodeURIComponent(id)}/decide`, text: t("held.decide") }],
      }));
      const children = (
        <>
          <Head title={t("held.title")} text={t("held.text")} />
          <Done t={t} query={query} />
          <List t={t} items={items} />
          <Pager {...{ t, path, query, next }} />
          {items.length > 0 && <Actions actions={[{ href: `${heldPath}/decide`, text: t("held.decideAll") }]} />}
        </>
      );
      return { title: t("held.title"), children };
    },
  }),
  decision("/decide", { title: "held.decideAll", ends: "held.endsAll" }, () => undefined),
  decision("/:kind/:id/decide", { title: "held.decide", ends: "held.ends" }, ({ parameter }) => ({
    kind: parameter("kind"),
    id: parameter("id"),
  })),
];
